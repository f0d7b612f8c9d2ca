"""Disruptions of the control plane: API server and etcd, their answers, and their certificates."""

import shutil
import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.integration.faults import etcd, reference
from tests.integration.faults.proxy_faults import ProxyFault
from tests.integration.faults.restore.etcd_restore import restore_etcd
from tests.integration.faults.scene import DisruptedRun

_AWAY = 4.0
_REMEMBERED = 15.0
"""Longer than aiohttp keeps the address of a name, which is ten seconds."""


def kill_api_server(scene: DisruptedRun) -> None:
    """Kill the API server, and start it on the same data."""
    scene.reach_any()
    with scene.installation.plane.down():
        time.sleep(1)


def freeze_api_server(scene: DisruptedRun) -> None:
    """Let the API server take connections and answer nothing."""
    scene.reach_any()
    with scene.installation.plane.frozen():
        time.sleep(_AWAY)


def kill_etcd(scene: DisruptedRun) -> None:
    """Kill etcd, and start it on the same data."""
    scene.reach_any()
    with etcd.down(scene.installation.plane):
        time.sleep(1)


def compact_etcd(scene: DisruptedRun) -> None:
    """Compact etcd while all watches are cut: they begin again at a revision that is gone."""
    scene.reach_any()
    plane = scene.installation.plane
    _disturb(scene, {ProxyFault.CUT_WATCH: 0.5, ProxyFault.DROP: 0.5}, then=lambda: etcd.compact(plane))


def reject_credentials(scene: DisruptedRun) -> None:
    """Answer 401 to all components. Task pods have tokens of their own, and are not struck."""
    scene.reach_any()
    _disturb(scene, {ProxyFault.UNAUTHORIZED: 1.0}, pods=False)


def expire_certificate(scene: DisruptedRun) -> None:
    """Let components and task pods connect again, to a certificate that has expired. Then the valid one is back."""
    scene.reach_any()
    plane, context = scene.installation.plane, scene.installation.tls
    expired = _expired(plane.state / "pki", scene.installation.folder / "expired.crt")
    _load(context, expired, plane.state / "pki/apiserver.key")
    _disturb(scene, {ProxyFault.CUT_WATCH: 0.5, ProxyFault.DROP: 0.5})
    _load(context, plane.state / "pki/apiserver.crt", plane.state / "pki/apiserver.key")


def forget_names(scene: DisruptedRun) -> None:
    """Let no host name have an address, and cut connections, for longer than clients remember an address."""
    scene.reach_any()
    names = scene.installation.names
    assert names is not None, "the installation uses addresses"
    with names.unknown():
        _disturb(scene, {ProxyFault.CUT_WATCH: 0.5, ProxyFault.DROP: 0.5}, pods=False, seconds=_REMEMBERED)


def restore_older_etcd(scene: DisruptedRun) -> None:
    """Back up etcd while all that is left of the run waits, go on, and restore the backup."""
    scene.approves = False
    scene.installation.until(lambda: scene.step() or scene.waits_for_approval(), "only the approval is left")
    backup = scene.installation.folder / f"etcd-{scene.run}"
    etcd.back_up(scene.installation.plane, backup)
    scene.approves = True
    reached = reference.NOTES - scene.random.randrange(2)
    scene.reach(reached)
    restore_etcd(scene.installation, backup, scene.namespace)
    shutil.rmtree(backup)
    scene.approved = False


def _disturb(
    scene: DisruptedRun,
    rates: dict[ProxyFault, float],
    *,
    pods: bool = True,
    seconds: float = _AWAY,
    then: Callable[[], object] = lambda: None,
) -> None:
    """Disturb requests for some seconds. `then` is called before the disturbance ends."""
    proxies = [proxy for proxy in scene.installation.proxies if pods or proxy is not scene.installation.pods]
    for proxy in proxies:
        proxy.rates = rates
    end = time.monotonic() + seconds
    scene.installation.until(lambda: (scene.step(), time.monotonic() >= end)[1], "the disturbance ends")
    then()
    for proxy in proxies:
        proxy.rates = {}


def _load(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Give the certificate to the connections that are accepted from now on."""
    context.load_cert_chain(certificate, key)


def _expired(pki: Path, target: Path) -> Path:
    """Issue the certificate of the API server again, as it was until yesterday."""
    served = x509.load_pem_x509_certificate((pki / "apiserver.crt").read_bytes())
    authority = x509.load_pem_x509_certificate((pki / "ca.crt").read_bytes())
    key = serialization.load_pem_private_key((pki / "ca.key").read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject_name=served.subject, issuer_name=authority.subject)
    builder = builder.public_key(served.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=2)).not_valid_after(now - timedelta(days=1))
    for extension in served.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    target.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    return target
