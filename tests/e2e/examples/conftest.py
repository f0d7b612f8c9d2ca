"""Fixtures of the tests of examples."""

import pytest
from torpor_dev import engine, host
from torpor_dev.offline import base_image


@pytest.fixture(scope="session")
def image() -> str:
    """An image with sh, bash and Python, in place of the public ones."""
    machine = host.observe()
    engine.ensure(machine)
    return base_image.ensure(machine)
