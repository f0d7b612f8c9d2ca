"""Builds the client that the options of a command describe."""

import os
import re
from dataclasses import dataclass

from kubectl_torpor import errors
from kubectl_torpor.cluster import kubeconfig
from kubectl_torpor.cluster.access import Access
from kubectl_torpor.cluster.api import Api
from kubectl_torpor.cluster.http import Http
from kubectl_torpor.target import Target

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
            f"{access.namespace!r} is no name of a namespace; use lower-case letters, digits and dashes"
        )
    return Cluster(api=Api(Http(access)), namespace=access.namespace, access=access)
