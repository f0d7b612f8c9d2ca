"""Builds the client that the options of a command describe."""

import os
import re
from dataclasses import dataclass

from torpor_cli import errors
from torpor_cli.cluster import kubeconfig
from torpor_cli.cluster.access import Access
from torpor_cli.cluster.api import Api
from torpor_cli.cluster.http import Http
from torpor_cli.target import Target

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A DNS label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster and the namespace that the command uses."""

    api: Api
    namespace: str
    access: Access


def connect(target: Target) -> Cluster:
    """Return the cluster of the options. Sends no request. Raises CliError."""
    access = kubeconfig.load(target, os.environ)
    if not _NAMESPACE.fullmatch(access.namespace):
        raise errors.UsageError(
            f"{access.namespace!r} is not a valid name of a namespace; use lower-case letters, digits and dashes"
        )
    return Cluster(api=Api(Http(access)), namespace=access.namespace, access=access)
