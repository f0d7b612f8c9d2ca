"""`python -m torpor_reference`: writes the generated parts of docs/reference, and policy torpor-timezone.

The only module of the generator that writes files.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from torpor_reference import commands, fields, policy_rules, sources, timezones
from torpor_reference.tables import PageError, Table, fill

_ROOT = Path(__file__).resolve().parents[2]
_KINDS = ("workflows", "taskruns", "workflowtemplates", "schedules", "backfills")
_FOLDER = _ROOT / "docs/reference"
_POLICY = _ROOT / "manifests/base/policies/workflow.yaml"
_TIMEZONES = _ROOT / "manifests/base/policies/timezone.yaml"


def pages() -> dict[Path, str]:
    """The text of each generated file, and of each page that has generated parts."""
    filled = {_FOLDER / name: fill((_FOLDER / name).read_text(), blocks) for name, blocks in _blocks().items()}
    return filled | {_TIMEZONES: timezones.policy()}


def main() -> int:
    """Write the pages; 1 where one of them cannot be completed."""
    try:
        written = pages()
    except PageError as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in written.items():
        path.write_text(text)
    return 0


def _blocks() -> dict[str, Mapping[str, str | Table]]:
    crds = {name: yaml.safe_load((_ROOT / f"crds/{name}.torpor.dev.yaml").read_text()) for name in _KINDS}
    rules = policy_rules.of_workflow(next(iter(yaml.safe_load_all(_POLICY.read_text()))))
    of_fields = {
        f"{name} fields": fields.sections(crd, rules if name == "workflows" else {}) for name, crd in crds.items()
    }
    of_columns = {f"{name} columns": fields.columns(crd) for name, crd in crds.items()}
    return {
        "fields.md": of_fields | of_columns,
        "settings.md": sources.flags(),
        "metrics.md": sources.metrics(),
        "triggers.md": sources.arguments(),
        "cli.md": {"commands": commands.sections(), "shared options": commands.shared_options()},
    }


if __name__ == "__main__":
    sys.exit(main())
