from typing import Any

import pytest

from tests.support.made_up_cluster import MadeUpApi
from tests.unit.ui.acts.act_objects import put_run


@pytest.fixture
def run(cluster: MadeUpApi) -> dict[str, Any]:
    return put_run(cluster)
