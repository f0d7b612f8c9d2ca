"""All checks, in the order in which a problem of one explains those after it. Pure."""

from collections.abc import Mapping, Sequence

from torpor_cli.diagnosis import cluster_checks, namespace_checks, network_checks, process_checks
from torpor_cli.diagnosis.facts import DiagnosisFacts, Object
from torpor_cli.diagnosis.result import CheckResult


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
        network_checks.network(facts),
        *namespace_checks.namespace(facts),
        namespace_checks.rights(facts),
        namespace_checks.finalizers(facts),
    ]
