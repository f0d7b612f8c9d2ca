"""Runs etcd, API server and controllers as processes on loopback: a real API in seconds, without root.

For integration tests and benchmarks. There is no kubelet, so pods exist only as objects. Control planes of different
state folders run side by side. A state of another version, or one that is not healthy, is created anew.
"""

import json
import shutil
import socket
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from torpor_dev import cache, daemon, pki
from torpor_dev.api import ApiReader, UnreachableError
from torpor_dev.console import DevError, NothingWorksError, say, step
from torpor_dev.offline import golang

ETCD, API_SERVER, CONTROLLERS, SCHEDULER = "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"
_ALL = (SCHEDULER, CONTROLLERS, API_SERVER, ETCD)
_ATTEMPTS = 3
_READY_LIMIT = 60.0
_RATE = ("--kube-api-qps=200", "--kube-api-burst=400")
# Only what tests need: each further controller would watch its kinds and cost CPU.
_CONTROLLER_NAMES = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
    "validatingadmissionpolicy-status-controller",
    "resourcequota-controller",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The loopback ports of one control plane."""

    etcd: int
    peer: int
    api: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlanePlan:
    """What was started. The next start compares it, and replaces another version."""

    kube: str
    api_server: str
    """The program of the API server; `kube` is that of the other processes."""
    scheduler: bool
    emulated: str | None
    profiled: bool
    feature_gates: str
    ports: Ports

    @property
    def server(self) -> str:
        """The API server's address."""
        return f"https://127.0.0.1:{self.ports.api}"

    @property
    def names(self) -> tuple[str, ...]:
        """The processes, in the order in which they stop."""
        return _ALL if self.scheduler else _ALL[1:]


def default_state() -> Path:
    """The default state folder."""
    return cache.folder("control-plane")


def start(
    state: Path,
    *,
    scheduler: bool = False,
    emulated: str | None = None,
    profiled: bool = False,
    feature_gates: str = "",
) -> Path:
    """Start a control plane in the state folder, or keep a healthy one; return the path of its kubeconfig.

    `emulated` is an older version of Kubernetes, such as 1.33, whose features and CEL the API server offers.
    `profiled`: API server and etcd serve CPU profiles. Those of the API server say which request a sample is for.
    `feature_gates`: those of the API server, such as `CBORServingAndStorage=true`.
    """
    if not Path("/proc/self/stat").exists():
        raise NothingWorksError("A control plane of plain processes needs Linux; set TORPOR_KUBECONFIG or use Docker.")
    state = state.resolve()
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    kube = golang.build(golang.KUBE)
    wanted = ControlPlanePlan(
        kube=str(kube),
        api_server=str(golang.build(golang.LABELLED_API_SERVER) if profiled else kube),
        scheduler=scheduler,
        emulated=emulated,
        profiled=profiled,
        feature_gates=feature_gates,
        ports=_free_ports(),
    )
    with cache.lock(state / "lock"):
        if _healthy(state, wanted):
            return _kubeconfig(state)
        _erase(state)
        with step("starting etcd and API server"):
            _start_anew(state, wanted)
    return _kubeconfig(state)


def stop(state: Path) -> None:
    """Stop the control plane of the state folder and remove its state."""
    state = state.resolve()
    if state.is_dir():
        with cache.lock(state / "lock"):
            _erase(state)


def _start_anew(state: Path, wanted: ControlPlanePlan) -> None:
    keys = pki.create(state / "pki")
    for attempt in range(1, _ATTEMPTS + 1):
        plan = replace(wanted, ports=_free_ports())
        (state / "plan.json").write_text(json.dumps(asdict(plan)))
        _launch(state, plan, keys)
        if _becomes_ready(state, plan):
            return
        died = [name for name in plan.names if daemon.find(name, folder=state) is None]
        output = "\n".join(daemon.tail(name, folder=state) for name in died or [API_SERVER])
        _stop_processes(state)
        # Another process may have taken a free port: try again.
        say(f"attempt {attempt}: {', '.join(died) or 'the API server'} did not start")
    raise DevError(f"the control plane in {state} did not start; its last lines:\n{output}")


def _launch(state: Path, plan: ControlPlanePlan, keys: pki.Pki) -> None:
    (state / "bin").mkdir(exist_ok=True)
    for name in plan.names:
        (state / "bin" / name).unlink(missing_ok=True)
        (state / "bin" / name).symlink_to(plan.api_server if name == API_SERVER else plan.kube)
    config = _kubeconfig(state)
    config.touch(mode=0o600)
    config.write_text(pki.kubeconfig(keys, plan.server))
    for name, arguments in _arguments(state, plan, keys, config).items():
        if name in plan.names:
            daemon.start(name, [state / "bin" / name, *arguments], folder=state)


def _arguments(state: Path, plan: ControlPlanePlan, keys: pki.Pki, config: Path) -> dict[str, list[str]]:
    ports = plan.ports
    client, peer = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.peer}"
    return {
        ETCD: [
            f"--data-dir={state / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--quota-backend-bytes=8589934592",
            "--log-level=warn",
            *(["--enable-pprof"] if plan.profiled else []),
        ],
        API_SERVER: [
            f"--etcd-servers={client}",
            f"--secure-port={ports.api}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--client-ca-file={keys.path('ca.crt')}",
            f"--tls-cert-file={keys.path('apiserver.crt')}",
            f"--tls-private-key-file={keys.path('apiserver.key')}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={keys.path('sa.key')}",
            f"--service-account-key-file={keys.path('sa.pub')}",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=Node,RBAC",
            "--anonymous-auth=false",
            "--allow-privileged=false",
            f"--profiling={str(plan.profiled).lower()}",
            *([f"--emulated-version={plan.emulated}"] if plan.emulated else []),
            *([f"--feature-gates={plan.feature_gates}"] if plan.feature_gates else []),
        ],
        CONTROLLERS: [
            f"--kubeconfig={config}",
            f"--service-account-private-key-file={keys.path('sa.key')}",
            f"--root-ca-file={keys.path('ca.crt')}",
            f"--controllers={','.join(_CONTROLLER_NAMES)}",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--secure-port=0",
            *_RATE,
        ],
        SCHEDULER: [f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0", *_RATE],
    }


def _becomes_ready(state: Path, plan: ControlPlanePlan) -> bool:
    deadline = time.monotonic() + _READY_LIMIT
    while time.monotonic() < deadline:
        if any(daemon.find(name, folder=state) is None for name in plan.names):
            return False
        if _answers(state):
            return True
        time.sleep(0.1)
    return False


def _healthy(state: Path, wanted: ControlPlanePlan) -> bool:
    try:
        noted = json.loads((state / "plan.json").read_text())
        plan = ControlPlanePlan(**noted | {"ports": Ports(**noted["ports"])})
    except (OSError, ValueError, TypeError, KeyError):
        return False
    running = all(daemon.find(name, folder=state) is not None for name in plan.names)
    same = replace(plan, scheduler=wanted.scheduler, ports=wanted.ports) == wanted
    return same and plan.scheduler >= wanted.scheduler and running and _kubeconfig(state).exists() and _answers(state)


def _answers(state: Path) -> bool:
    """Whether a pod can be created: the API is ready and the default ServiceAccount exists."""
    try:
        api = ApiReader.from_kubeconfig(_kubeconfig(state))
        for path in ("/readyz", "/api/v1/namespaces/default/serviceaccounts/default"):
            api.get(path)
    except UnreachableError:
        return False
    return True


def _free_ports() -> Ports:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    etcd, peer, api = (int(server.getsockname()[1]) for server in held)
    for server in held:
        server.close()
    return Ports(etcd=etcd, peer=peer, api=api)


def _erase(state: Path) -> None:
    _stop_processes(state)
    for name in ("plan.json", "kubeconfig", *(f"{process}.log" for process in _ALL)):
        (state / name).unlink(missing_ok=True)
    for name in ("etcd", "pki", "bin"):
        shutil.rmtree(state / name, ignore_errors=True)


def _stop_processes(state: Path) -> None:
    for name in _ALL:
        # etcd and its clients hold nothing that needs a graceful stop.
        daemon.stop(name, folder=state, timeout=3)
    shutil.rmtree(state / "etcd", ignore_errors=True)


def _kubeconfig(state: Path) -> Path:
    return state / "kubeconfig"
