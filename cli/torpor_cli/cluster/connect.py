"""Builds the client that the options of a command describe."""

import os
import re
from dataclasses import dataclass

from torpor_cli import errors
from torpor_cli.cluster import kubeconfig
from torpor_cli.cluster.access import Access
from torpor_cli.cluster.api import ApiClient
from torpor_cli.cluster.http import HttpClient
from torpor_cli.target import TargetOptions

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A DNS label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConnection:
    """A cluster and the namespace that the command uses."""

    api: ApiClient
    namespace: str
    access: Access


def connect(target: TargetOptions) -> ClusterConnection:
    """Return the cluster of the options. Sends no request. Raises CliError."""
    access = kubeconfig.load(target, os.environ)
    if not _NAMESPACE.fullmatch(access.namespace):
        raise errors.UsageError(
            f"{access.namespace!r} is not a valid name of a namespace; use lower-case letters, digits and dashes"
        )
    return ClusterConnection(api=ApiClient(HttpClient(access)), namespace=access.namespace, access=access)
