"""The controllers of Schedules around an API server in memory."""

import pytest

from tests.support.schedules.harness import ScheduleHarness


@pytest.fixture
def harness() -> ScheduleHarness:
    return ScheduleHarness()
