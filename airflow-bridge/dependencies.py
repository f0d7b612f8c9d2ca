"""Prints what the bridge needs beside Torpor's packages, one requirement a line: a layer of its images."""

import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Print the dependencies of pyproject.toml that are not Torpor's own."""
    project = tomllib.loads((Path(__file__).parent / "pyproject.toml").read_text())["project"]
    sys.stdout.writelines(f"{each}\n" for each in project["dependencies"] if not each.startswith("torpor"))


if __name__ == "__main__":
    main()
