"""The commands of the runbooks run on a cluster as they stand on the page."""

import asyncio
import re
import shlex
from pathlib import Path

from torpor_demo.kubectl import Kubectl
from torpor_dev.console import CommandError

_PAGE = Path(__file__).resolve().parents[2] / "docs/operations/alerts.md"
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Each command once, without the restarts of the operator, which other tests use meanwhile."""
    lines = {line for block in _BLOCK.findall(_PAGE.read_text()) for line in block.splitlines()}
    return sorted(line for line in lines if " rollout " not in line)


async def run(kubectl: Kubectl, words: list[str]) -> str:
    """The last error of a command, or nothing. It is repeated: other tests start, kill and delete pods."""
    message = ""
    for _ in range(20):
        try:
            await asyncio.to_thread(kubectl.run, *words, limit=120)
        except CommandError as error:
            message = str(error)
            await asyncio.sleep(3)
        else:
            return ""
    return message


async def test_every_command_of_a_runbook_succeeds(kubectl: Kubectl) -> None:
    failed = {}
    for line in commands():
        program, *words = shlex.split(line)
        assert program == "kubectl"
        if error := await run(kubectl, words):
            failed[line] = error
    assert failed == {}
    assert len(commands()) > 15
