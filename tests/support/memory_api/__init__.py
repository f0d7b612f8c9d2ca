"""An API server in memory for tests of the plan."""

from tests.support.memory_api.stored import Stored

__all__ = ["Stored"]
