"""A second kind cluster without Torpor, so that a test can install and remove it without effect on other tests."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from torpor_demo.kubectl import Kubectl
from torpor_dev import cache

NAME = "torpor-install"
NODE = f"{NAME}-control-plane"
# The cluster creates and deletes these at any time.
_PASSING = ("events", "events.events.k8s.io", "leases.coordination.k8s.io", "endpointslices.discovery.k8s.io")
_NAMES = '{{range .items}}{{.kind}} {{.metadata.namespace}} {{.metadata.name}}{{"\\n"}}{{end}}'


@contextmanager
def created() -> Iterator[Kubectl]:
    """Create a cluster, and remove it afterwards. A second test session waits for its turn."""
    with cache.lock(cache.folder("cluster") / f"{NAME}.lock"):
        _dev("cluster-down")
        try:
            _dev("cluster")
            yield Kubectl(Path(_dev("kubeconfig")))
        finally:
            _dev("cluster-down")


def environment() -> Mapping[str, str]:
    """The environment of a command that uses this cluster."""
    return {**os.environ, "TORPOR_CLUSTER": NAME, "TORPOR_KUBECONFIG": "", "TORPOR_NODES": "1"}


def objects(kubectl: Kubectl) -> set[str]:
    """Every object of the cluster, except those that the cluster creates and deletes at any time."""
    kinds = kubectl.run("api-resources", "--verbs=list", "--output=name").split()
    lasting = ",".join(kind for kind in kinds if kind not in _PASSING)
    return set(kubectl.run("get", lasting, "--all-namespaces", f"--output=go-template={_NAMES}").splitlines())


def _dev(*words: str) -> str:
    command = [sys.executable, "-m", "torpor_dev", *words]
    done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()
