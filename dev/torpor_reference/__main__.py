"""`python -m torpor_reference`: writes the generated parts of the documentation, and policy torpor-timezone.

The only module of the generator that writes files.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from torpor_reference import chart_values, commands, fields, layout, sources, timezones
from torpor_reference.tables import PageError, Table, fill

_ROOT = Path(__file__).resolve().parents[2]
_KINDS = ("workflows", "taskruns", "workflowtemplates", "clusterworkflowtemplates", "schedules", "backfills")
_POLICY = _ROOT / "manifests/base/policies/workflow.yaml"
_STATES = ("state", "meaning", "has a pod")
_RULES = ("rule", "the task runs if, of its upstream tasks,", "otherwise it is")
_TIMEZONES = _ROOT / "manifests/base/policies/timezone.yaml"


def pages() -> dict[Path, str]:
    """The text of each generated file, and of each page that has generated parts."""
    filled = {_ROOT / name: fill((_ROOT / name).read_text(), blocks) for name, blocks in _blocks().items()}
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
    rules = fields.policy_sentences(next(iter(yaml.safe_load_all(_POLICY.read_text()))))
    of_fields = {
        f"{name} fields": fields.sections(crd, rules if name == "workflows" else {}) for name, crd in crds.items()
    }
    of_columns = {f"{name} columns": fields.columns(crd) for name, crd in crds.items()}
    return {
        "CONTRIBUTING.md": {"folders": layout.folders(_ROOT)},
        "docs/adr/index.md": {"decisions": layout.decisions(_ROOT)},
        "docs/concepts/taskrun.md": {"states": fields.values(crds["taskruns"], "status.state", _STATES)},
        "docs/concepts/trigger-rules.md": {"rules": fields.values(crds["workflows"], "spec.tasks[].rule", _RULES)},
        "docs/design/architecture.md": {"components": layout.components(_ROOT), **layout.layers(_ROOT)},
        "docs/how-to/check-a-workflow.md": {"rules": sources.lint_rules()},
        "docs/reference/cli.md": {"commands": commands.sections(), "shared options": commands.shared_options()},
        "docs/reference/fields.md": of_fields | of_columns,
        "docs/reference/helm-values.md": {"values": chart_values.table(_ROOT / "manifests/chart")},
        "docs/reference/metrics.md": sources.metrics(),
        "docs/reference/settings.md": sources.flags(),
        "docs/reference/triggers.md": sources.arguments(),
    }


if __name__ == "__main__":
    sys.exit(main())
