"""The sources of files have the address rules of waits: `torpor-tool` repeats the denied networks."""

import re
from pathlib import Path

from torpor_triggerer.network import addresses

SOURCE = Path(__file__).parents[4] / "worker-image/runtime-tool/addresses.go"


def test_the_tool_denies_the_networks_that_waits_may_not_reach() -> None:
    (block,) = re.findall(r"^var denied = .*?^}", SOURCE.read_text(), re.MULTILINE | re.DOTALL)
    assert tuple(re.findall(r'\{"([^"]+)", "([^"]+)"\}', block)) == addresses.DENIED
