"""Questions of a plan that nobody can answer at the moment."""

from collections.abc import Mapping
from typing import NoReturn

import pytest
from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_cel.evaluator import Unavailable
from torpor_cel.value import JSON
from torpor_operator.controller.queries import QueryResolver
from torpor_operator.model.actions import Evaluate
from torpor_operator.settings import Settings

from tests.support.controller_harness import ControllerHarness


class NoChildren:
    """An evaluator on a machine that starts no more processes."""

    async def evaluate(self, expression: str, variables: Mapping[str, JSON], *, share: str = "") -> NoReturn:
        del share
        raise Unavailable(f"no process for {expression} over {len(variables)} values")


async def test_a_machine_that_starts_no_process_for_an_expression_is_trouble_and_no_bug() -> None:
    rig = ControllerHarness(Settings())
    resolver = QueryResolver(Api(rig.fake, rig.clock), rig.cache, NoChildren())
    with pytest.raises(errors.Unavailable, match="no process for 1 \\+ 1"):
        await resolver.resolve([Evaluate("1 + 1", (), {})])
