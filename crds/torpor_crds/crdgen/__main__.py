"""`python -m torpor_crds.crdgen`: generates crds/*.yaml from the models; `--check` only compares them.

The YAML is committed, so that reviewers see an API change as clusters will. Only this module of the generator accesses
files.
"""

import argparse
import sys
from pathlib import Path

import yaml

from torpor_crds.crdgen import definitions

_FOLDER = Path(__file__).resolve().parents[2]
_HEADER = "# Generated from crds/torpor_crds by `python -m torpor_crds.crdgen`; edit the models instead.\n"


class _Dumper(yaml.SafeDumper):
    """Writes repeated values in full, without YAML anchors, which are hard to read."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True


def documents() -> dict[str, str]:
    """Return the YAML of each CRD by file name."""
    kinds = (
        definitions.workflows(),
        definitions.taskruns(),
        definitions.workflow_templates(),
        definitions.cluster_workflow_templates(),
        definitions.schedules(),
        definitions.backfills(),
    )
    return {f"{crd['metadata']['name']}.yaml": _text(crd) for crd in kinds}


def main() -> int:
    """Write the files. With `--check`, print the names of outdated files instead and return 1."""
    arguments = _arguments()
    stale = [name for name, text in documents().items() if _read(arguments.folder / name) != text]
    for name in stale:
        if arguments.check:
            print(f"{arguments.folder / name} is outdated; run make generate", file=sys.stderr)  # noqa: T201
        else:
            (arguments.folder / name).write_text(documents()[name])
    return 1 if arguments.check and stale else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is outdated")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="folder of the YAML files")
    return parser.parse_args()


def _text(crd: dict[str, object]) -> str:
    return _HEADER + yaml.dump(crd, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
