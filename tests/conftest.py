"""Lets tests import what they share, `tests.support.fake_api`, however pytest is started."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.append(str(Path(__file__).parent.parent))
# No test depends on the speed of the machine.
settings.register_profile("torpor", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("torpor")
