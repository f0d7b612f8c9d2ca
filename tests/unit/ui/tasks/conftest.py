"""A run with one mapped task, and its TaskRuns."""

from typing import Any

import pytest
from torpor_kubernetes.client.resources import WORKFLOWS

from tests.support.made_up_cluster import MadeUpApi
from tests.unit.ui.tasks.task_objects import MAPPED
from tests.unit.views.objects import workflow


@pytest.fixture
def run(cluster: MadeUpApi) -> dict[str, Any]:
    return cluster.server.put(WORKFLOWS, {**workflow(MAPPED), "metadata": {"namespace": "data", "name": "etl"}})
