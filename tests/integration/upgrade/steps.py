"""The steps of an upgrade that docs/operations/upgrade.md describes, on processes. Each leaves a mix of versions.

A Deployment replaces a replica after the new one is ready; the archive with one database is replaced at once.
"""

from collections.abc import Callable, Mapping

import yaml

from tests.integration.conftest import install
from tests.integration.faults.installation import ProcessInstallation
from tests.integration.faults.release import SourceRelease

_POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


def apply_policies(installation: ProcessInstallation, release: SourceRelease) -> None:
    """Apply the admission policies: the first part of step 5."""
    for document in yaml.safe_load_all(release.manifest):
        if document["kind"] in _POLICIES:
            installation.server.apply(document)


def apply_manifest(installation: ProcessInstallation, release: SourceRelease) -> None:
    """Apply kinds, roles and policies: from now on old processes run with new kinds."""
    install(installation.server, release.manifest)


def replace_archive(installation: ProcessInstallation, release: SourceRelease) -> None:
    """End the archive, and start the other version on the same database."""
    installation.components["archive"].terminate()
    installation.add_archive("archive", release)
    installation.await_archive()


def replace_triggerers(installation: ProcessInstallation, release: SourceRelease) -> None:
    """Replace the triggerers one after the other, each when the former one serves."""
    for component in installation.named("triggerer"):
        component.terminate()
        installation.add_triggerer(component.name, release)
        installation.await_triggerer(component.name)


def replace_operators(installation: ProcessInstallation, release: SourceRelease) -> None:
    """Replace the operators one after the other: for a moment an old one leads beside a new standby."""
    for component in installation.named("operator"):
        component.terminate()
        installation.add_operator(component.name, release)
        installation.await_leader()


STEPS: Mapping[str, Callable[[ProcessInstallation, SourceRelease], None]] = {
    "policies": apply_policies,
    "manifest": apply_manifest,
    "archive": replace_archive,
    "triggerers": replace_triggerers,
    "operators": replace_operators,
}
BACK: Mapping[str, Callable[[ProcessInstallation, SourceRelease], None]] = {
    "operators": replace_operators,
    "triggerers": replace_triggerers,
    "manifest": apply_manifest,
}
"""The way back. The archive stays: it migrates its tables only forward."""
