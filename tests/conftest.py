"""Lets tests import what they share, `tests.fake_api`, however pytest is started."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
