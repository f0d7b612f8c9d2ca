"""`torpor compile`."""

import json

import click

from torpor_cli import output, yaml_format
from torpor_cli.authoring import compiled
from torpor_cli.changes import manifest
from torpor_cli.errors import ExitCode
from torpor_cli.options import param_options
from torpor_cli.output import Format


@click.command("compile")
@click.argument("reference", metavar="MODULE:FUNCTION")
@click.option("--python", metavar="PATH", help="Interpreter with your packages, by default that of $VIRTUAL_ENV.")
@click.option("-o", "--output", "output_format", type=click.Choice(["yaml", "json"]), default="yaml", help="Format.")
@param_options
def compile_command(
    reference: str, python: str | None, output_format: str, pairs: tuple[str, ...], params_file: str | None
) -> int:
    """Print the Workflow of a @workflow function, and check it as `torpor lint` does.

    MODULE is imported from the current directory or from the packages of the interpreter: ingest.flows:ingest.

    Exit codes: 0 valid, 1 invalid or not built, 2 usage.
    """
    body = compiled.compile_workflow(reference, python=python, pairs=pairs, values=manifest.params(params_file))
    errors, warnings = compiled.findings(body)
    for severity, lines in (("error", errors), ("warning", warnings)):
        for line in lines:
            output.note(f"{reference}: {severity}: {line}")
    if errors:
        return ExitCode.FAILED
    output.line((yaml_format.dump(body) if output_format == Format.YAML else json.dumps(body, indent=2)).rstrip())
    return ExitCode.SUCCEEDED
