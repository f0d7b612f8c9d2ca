"""Kueue as a process beside a control plane of plain processes: its CRDs, its webhooks and its controllers.

Its webhooks are reached by URL, with a certificate of the test. Only pods are integrated.
"""

import base64
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from torpor_archive.tls import create_key_pair

from tests.integration.conftest import Server, eventually
from tests.support.controller_process import Plane
from tests.support.ports import free_port

PROGRAM, SOURCES = "TORPOR_KUEUE", "TORPOR_KUEUE_SOURCES"
"""Environment variables: the program, and the folder of the module with its manifests."""
_KINDS = ("-pod", "-clusterqueue", "-resourceflavor", "-workload", "-cohort", "-localqueue")
_GROUP = "/apis/kueue.x-k8s.io/v1beta2"
_WITH_CERTIFICATE = """
mkdir "$1/etc" && mount -t tmpfs tmpfs "$1/etc" && mkdir "$1/etc/upper" "$1/etc/work"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/etc/upper,workdir=$1/etc/work" /etc
mkdir -p /etc/kueue/metrics/certs && cp "$1/tls.crt" "$1/tls.key" /etc/kueue/metrics/certs/
shift && exec "$@"
"""
"""Kueue reads the certificate of its metrics from a fixed path, which a mount namespace of its own provides."""
Object = dict[str, Any]


@contextmanager
def started(plane: Plane, folder: Path) -> Iterator[Path]:
    """Install and run Kueue. The value is its log."""
    server, port = plane.server, free_port()
    pair = create_key_pair("127.0.0.1", datetime.now(UTC))
    (folder / "tls.crt").write_text(pair.certificate)
    (folder / "tls.key").write_text(pair.key)
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(_configuration(folder, port)))
    components = Path(os.environ[SOURCES]) / "config/components"
    kinds = [yaml.safe_load(path.read_text()) for path in sorted((components / "crd/bases").glob("*.yaml"))]
    for kind in kinds:
        server.apply(kind)
    names = {kind["spec"]["names"]["plural"] for kind in kinds}
    eventually(lambda: names <= _served(server), "the kinds of Kueue are served")
    server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}})
    log = folder / "kueue.log"
    gates = "VisibilityOnDemand=false,TopologyAwareScheduling=false"
    flags = [f"--config={config}", f"--kubeconfig={plane.kubeconfig}", f"--feature-gates={gates}"]
    with log.open("wb") as output:
        command = ["unshare", "--mount", "sh", "-ec", _WITH_CERTIFICATE, "sh", str(folder), os.environ[PROGRAM], *flags]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    webhooks = [_by_url(body, pair.certificate, port) for body in _webhooks(components)]
    try:
        for body in webhooks:
            server.apply(body)
        eventually(lambda: _admits(server, process, log), "Kueue answers")
        yield log
    finally:
        for body in webhooks:
            plural = f"{body['kind'].lower()}s"
            server.request("DELETE", f"/apis/admissionregistration.k8s.io/v1/{plural}/{body['metadata']['name']}")
        process.kill()
        process.wait()


def set_up_queue(server: Server, namespace: str, queue: str, *, cpu: str) -> None:
    """A LocalQueue with a ClusterQueue of its own, which has so many CPUs and preempts lower priorities."""
    for body in queue_objects(namespace, queue, cpu=cpu):
        server.apply(body)


def queue_objects(namespace: str, queue: str, *, cpu: str) -> list[Object]:
    """The objects of a LocalQueue with a ClusterQueue of its own."""
    quota = {"name": "cpu", "nominalQuota": cpu}
    flavors = [{"name": "default", "resources": [quota, {"name": "memory", "nominalQuota": "64Gi"}]}]
    cluster_queue = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": flavors}],
    }
    bodies: list[Object] = [
        {"kind": "ResourceFlavor", "metadata": {"name": "default"}, "spec": {}},
        {"kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 1000},
        {"kind": "ClusterQueue", "metadata": {"name": queue}, "spec": cluster_queue},
        {
            "kind": "LocalQueue",
            "metadata": {"name": queue, "namespace": namespace},
            "spec": {"clusterQueue": queue},
        },
    ]
    return [{"apiVersion": "kueue.x-k8s.io/v1beta2", **body} for body in bodies]


def used_cpu(server: Server, namespace: str, queue: str) -> str:
    """The CPUs of the workloads that the queue has admitted."""
    return admitted_cpu(server.request("GET", f"{_GROUP}/namespaces/{namespace}/localqueues/{queue}").expect(200))


def admitted_cpu(local_queue: Object) -> str:
    """The CPUs of the workloads that a LocalQueue has admitted."""
    none = [{"resources": [{"name": "cpu", "total": "0"}]}]
    flavors = local_queue.get("status", {}).get("flavorsUsage") or none
    return next(str(each["total"]) for each in flavors[0]["resources"] if each["name"] == "cpu")


def _served(server: Server) -> set[str]:
    """The kinds that discovery lists: the process asks it once, at its start."""
    return {each["name"] for each in server.request("GET", _GROUP).body.get("resources", ())}


def _admits(server: Server, process: "subprocess.Popen[bytes]", log: Path) -> bool:
    assert process.poll() is None, log.read_text()[-4000:]
    flavor = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "probe"},
        "spec": {},
    }
    return server.request("POST", f"{_GROUP}/resourceflavors", flavor).status in {201, 409}


def _configuration(folder: Path, port: int) -> Object:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": "127.0.0.1:0"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"port": port, "host": "127.0.0.1", "certDir": str(folder)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "integrations": {"frameworks": ["pod"]},
    }


def _webhooks(components: Path) -> list[Object]:
    documents = yaml.safe_load_all((components / "webhook/manifests.yaml").read_text())
    return [document for document in documents if document]


def _by_url(body: Object, certificate: str, port: int) -> Object:
    """The webhooks of the kinds that are installed, reached at the process."""
    authority = base64.b64encode(certificate.encode()).decode()
    kept = [hook for hook in body["webhooks"] if hook["clientConfig"]["service"]["path"].endswith(_KINDS)]
    for hook in kept:
        path = hook["clientConfig"]["service"]["path"]
        hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": authority}
    return {**body, "metadata": {"name": f"kueue-{body['metadata']['name']}"}, "webhooks": kept}
