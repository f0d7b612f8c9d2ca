"""Runs the console blocks of a page in one shell, and compares what each command prints with the page."""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "--- end of command"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleCommand:
    """A command of a page, and its output there. `…` stands for any text, a line of it for any lines."""

    text: str
    output: str

    def matches(self, printed: str) -> bool:
        """Whether the command printed what the page says."""
        lines = self.output.splitlines()
        parts = ["(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in lines]
        return re.fullmatch("".join(parts), printed) is not None


def commands(section: str) -> list[ConsoleCommand]:
    """Return the commands of the console blocks of a text, each in one line that begins with a dollar sign."""
    found = []
    for block in _BLOCK.finditer(section):
        for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
            text, _, output = part.partition("\n")
            found.append(ConsoleCommand(text=text, output=output.strip("\n")))
    return found


def sections(page: Path) -> Mapping[str, str]:
    """Return the text of each section of the second level by its title."""
    parts = re.split(r"^## (.*)$", page.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def play(wanted: list[ConsoleCommand], folder: Path, environment: Mapping[str, str], seconds: float) -> list[str]:
    """Return what each command printed, both streams in their order. All of them run in one shell."""
    script = "\n".join(f"{each.text}\necho '{_MARK}'" for each in wanted)
    ended = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=seconds,
    )
    printed = ended.stdout.split(f"{_MARK}\n")
    assert len(printed) == len(wanted) + 1, ended.stdout
    return printed[:-1]
