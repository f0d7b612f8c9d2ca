"""The command `torpor-airflow`: what of Airflow runs in Torpor."""

import argparse
import json
import sys
from collections.abc import Sequence

RULE = "airflow.providers.**"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit code."""
    parsed = _parser().parse_args(arguments)
    command = {"triggers": _triggers, "convert": _convert}[parsed.command]
    return command(parsed)


def from_airflow() -> int:
    """Run `torpor from-airflow`, which is `torpor-airflow convert`."""
    return main(["convert", *sys.argv[1:]])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="torpor-airflow", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    triggers = commands.add_parser("triggers", help="list the trigger classes that are installed, and what they need")
    triggers.add_argument("rule", nargs="?", default=RULE, help=f"the classes to list; by default {RULE}")
    triggers.add_argument("-o", "--output", choices=("text", "json"), default="text")
    convert = commands.add_parser("convert", help="write the DAGs of files as WorkflowTemplates and Schedules")
    if "convert" in sys.argv or "-h" not in sys.argv:
        from torpor_airflow.conversion import command  # noqa: PLC0415 - Airflow takes seconds to import

        command.add_arguments(convert)
    return parser


def _convert(parsed: argparse.Namespace) -> int:
    from torpor_airflow.conversion import command  # noqa: PLC0415

    return command.run(parsed)


def _triggers(parsed: argparse.Namespace) -> int:
    from torpor_airflow.triggers import catalog, classification  # noqa: PLC0415 - Airflow takes seconds to import

    try:
        rows = list(classification.rows(catalog.load_classes(parsed.rule)))
    except ImportError as error:
        _print(f"torpor-airflow: {parsed.rule}: {error}", to_stderr=True)
        return 2
    if parsed.output == "json":
        _print(json.dumps([dict(zip(("class", "support", "detail"), row, strict=True)) for row in rows], indent=2))
        return 0
    for path, support, detail in rows:
        _print(f"{path}  {support}" + (f": {detail}" if detail else ""))
    return 0


def _print(text: str, *, to_stderr: bool = False) -> None:
    stream = sys.stderr if to_stderr else sys.stdout
    stream.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
