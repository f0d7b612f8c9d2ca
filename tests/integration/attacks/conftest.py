"""Live processes for attacks; the fixtures of the triggerer's own tests."""

from tests.integration.triggerer.conftest import *  # noqa: F403
