"""A leader that was stopped in the middle of its work wakes with the next write in its hand, and does not make it."""

import pytest
from torpor_api import errors
from torpor_api.api import Api
from torpor_api.workflow import WorkflowStatus, parse
from torpor_operator.actions import LetGo, SetFinalizers
from torpor_operator.apply import Applier
from torpor_operator.observe import Observer
from torpor_operator.settings import Settings

from tests.fake_api import FakeApi, VirtualClock
from tests.unit.controller.bodies import python


async def test_who_does_not_lead_writes_nothing() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    api = Api(fake, clock, jitter=lambda: 0.5)
    observer = Observer(api, touched=lambda _: None, suspect=lambda _: None, jitter=lambda: 0.5)
    applier = Applier(api, clock, observer, Settings(), leads=lambda: False)
    metadata = {"name": "run", "namespace": "ns", "uid": "u", "resourceVersion": "1"}
    workflow = parse({"metadata": metadata, "spec": {"image": "i", "tasks": [python("a")]}})

    assert not await applier.apply(workflow, [SetFinalizers(finalizers=("torpor.dev/cancel-first",))])
    assert not await applier.write_status(workflow, WorkflowStatus(state="Running"))
    with pytest.raises(errors.Unavailable):
        await applier.let_go(LetGo(namespace="ns", name="pod", uid="u", finalizers=()))
    assert fake.requests == []
