"""Rows of Kubernetes, against a real API server."""

import json
from collections.abc import Iterator
from typing import Any

from provider_runs.row import ProviderRow
from provider_runs.servers.kubernetes import NAMESPACE
from provider_runs.servers.started import RowServers


def rows(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows."""
    fields = {"conn_type": "kubernetes", "extra": {"kube_config_path": servers.kubeconfig}}
    connections = {"cluster": json.dumps(fields)}
    common: dict[str, Any] = {
        "kubernetes_conn_id": "cluster",
        "namespace": NAMESPACE,
        "image": "busybox:1",
        "get_logs": False,
        "log_events_on_failure": False,
        "deferrable": True,
    }

    def row(path: str, arguments: dict[str, Any], **given: Any) -> ProviderRow:
        return ProviderRow(
            family="cncf.kubernetes",
            path=f"cncf.kubernetes.{path}",
            arguments={**common, **arguments},
            connections=connections,
            **given,
        )

    yield row(
        "operators.pod.KubernetesPodOperator",
        {"name": "load", "cmds": ["true"], "poll_interval": 1},
        defers=["KubernetesPodTrigger"],
    )
