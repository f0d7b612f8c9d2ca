"""`python -m benchmarks.harness.pod MODULE ...`: starts a shipped program as in its pod, outside a pod.

TORPOR_BENCH_ACCOUNT names the folder of the service account. A kubeconfig would load a client library that pods do not
load, and add its 50 MB. Names under `NEVER` are not resolved: the lookup blocks, as without a DNS server, and no packet
leaves the machine.
"""

import os
import runpy
import socket
import sys
import time
from pathlib import Path
from typing import Any

from torpor_kubernetes.client import endpoint

OPERATOR = "torpor_operator"
NEVER = ".never.invalid"
_HANGS = 60.0
_system = socket.getaddrinfo


def _lookup(host: Any, *rest: Any, **options: Any) -> Any:
    if isinstance(host, str) and host.endswith(NEVER):
        time.sleep(_HANGS)
        raise socket.gaierror(socket.EAI_AGAIN, "no DNS server answers")
    return _system(host, *rest, **options)


def _login(**_: Any) -> Any:
    import kopf  # noqa: PLC0415 - the other programs do not load it

    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    token = (endpoint.SERVICE_ACCOUNT / "token").read_text().strip()
    return kopf.ConnectionInfo(
        server=f"https://{host}:{port}", ca_path=str(endpoint.SERVICE_ACCOUNT / "ca.crt"), token=token
    )


if __name__ == "__main__":
    program = sys.argv.pop(1)
    endpoint.SERVICE_ACCOUNT = Path(os.environ["TORPOR_BENCH_ACCOUNT"])
    if program == OPERATOR:
        import kopf

        kopf.login_with_service_account = _login
    socket.getaddrinfo = _lookup
    sys.argv[0] = program
    runpy.run_module(program, run_name="__main__", alter_sys=True)
