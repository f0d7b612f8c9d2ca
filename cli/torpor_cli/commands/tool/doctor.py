"""`torpor doctor`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import click

from torpor_cli import output, table
from torpor_cli.cluster.connect import connect
from torpor_cli.diagnosis import cluster_checks, namespace_checks, observe, process_checks
from torpor_cli.diagnosis.facts import CheckResult, DiagnosisFacts, Object, Status
from torpor_cli.errors import ExitCode
from torpor_cli.linting import bundled
from torpor_cli.options import ClusterCommand
from torpor_cli.output import Format, output_option
from torpor_cli.target import TargetOptions


def diagnose(
    facts: DiagnosisFacts, schemas: Mapping[str, Object], policies: Sequence[tuple[Object, str]]
) -> list[CheckResult]:
    """Return the results of all checks. `schemas` by plural, and `policies` with their actions, are of this command."""
    return [
        process_checks.versions(facts),
        cluster_checks.kubernetes(facts),
        cluster_checks.kinds(facts, schemas),
        cluster_checks.policies(facts, policies),
        cluster_checks.roles(facts),
        *process_checks.deployments(facts),
        process_checks.leader(facts),
        *process_checks.pools(facts),
        process_checks.archive(facts),
        *process_checks.clocks(facts),
        cluster_checks.network(facts),
        *namespace_checks.namespace(facts),
        *namespace_checks.installation(facts),
        namespace_checks.rights(facts),
        namespace_checks.finalizers(facts),
    ]


@click.command("doctor", cls=ClusterCommand)
@output_option(Format.JSON, Format.YAML)
@click.pass_obj
def doctor_command(target: TargetOptions, output_format: str) -> int:
    """Check the installation of Torpor.

    Each check is ok, a warning, failed, or unknown if you may not read what it needs. -n also checks the set-up of a
    namespace.

    Exit codes: 0 nothing failed, 1 a check failed.
    """
    facts = observe.observe(connect(target), chosen=target.namespace is not None)
    schemas = {plural: bundled.schema(plural) for plural in cluster_checks.KINDS.values()}
    results = diagnose(facts, schemas, bundled.bound_policies())
    counts = Counter(str(result.status) for result in results)
    if output_format == Format.TEXT:
        _text(results)
        output.note(", ".join(f"{counts[status]} {status}" for status in Status))
    else:
        data = {**{str(status): counts[status] for status in Status}, "checks": [_plain(result) for result in results]}
        output.data(data, output_format)
    return ExitCode.FAILED if counts[Status.FAILED] else ExitCode.SUCCEEDED


def _text(results: Sequence[CheckResult]) -> None:
    for result in results:
        output.line(table.line((result.status, result.check, result.message), (8, 11), gap=" "))
        if result.action:
            output.line(table.line(("", f"> {result.action}"), (20,), gap=" "))


def _plain(result: CheckResult) -> dict[str, str]:
    return {key: str(value) for key, value in asdict(result).items() if value}
