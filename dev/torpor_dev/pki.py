"""Creates certificates and a ServiceAccount key for a control plane on loopback, with openssl.

They last as long as one state folder on one machine, and are never renewed.
"""

import base64
from dataclasses import dataclass
from pathlib import Path

from torpor_dev import command

_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_USAGE = "keyUsage=digitalSignature,keyEncipherment\nextendedKeyUsage=serverAuth,clientAuth\n"
_NAMES = "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:localhost,IP:127.0.0.1,IP:10.96.0.1"
_DAYS = "3650"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pki:
    """The folder with the keys and certificates of a control plane."""

    folder: Path

    def path(self, name: str) -> Path:
        """The path of a file: ca.crt, apiserver.crt, admin.key, sa.pub and so on."""
        return self.folder / name


def create(folder: Path) -> Pki:
    """Create a CA, a serving certificate, one of an administrator, and the ServiceAccount key pair."""
    folder.mkdir(parents=True, exist_ok=True)
    pki = Pki(folder=folder)
    ca, key = pki.path("ca.crt"), pki.path("ca.key")
    _openssl("req", "-x509", *_CURVE, "-keyout", key, "-out", ca, "-subj", "/CN=torpor-dev", "-days", _DAYS)
    _issue(pki, "apiserver", "/CN=kube-apiserver", f"subjectAltName={_NAMES}\n")
    _issue(pki, "admin", "/O=system:masters/CN=admin", "")
    _openssl("genrsa", "-out", pki.path("sa.key"), "2048")
    _openssl("rsa", "-in", pki.path("sa.key"), "-pubout", "-out", pki.path("sa.pub"))
    return pki


def kubeconfig(pki: Pki, server: str) -> str:
    """The administrator's kubeconfig with embedded certificates, so that it can be copied."""

    def embedded(name: str) -> str:
        return base64.b64encode(pki.path(name).read_bytes()).decode()

    return f"""apiVersion: v1
kind: Config
clusters:
- name: torpor
  cluster:
    server: {server}
    certificate-authority-data: {embedded("ca.crt")}
users:
- name: admin
  user:
    client-certificate-data: {embedded("admin.crt")}
    client-key-data: {embedded("admin.key")}
contexts:
- name: torpor
  context: {{cluster: torpor, user: admin}}
current-context: torpor
"""


def _issue(pki: Pki, name: str, subject: str, extra: str) -> None:
    key, request, extensions = pki.path(f"{name}.key"), pki.path(f"{name}.csr"), pki.path(f"{name}.ext")
    extensions.write_text(_USAGE + extra)
    _openssl("req", *_CURVE, "-keyout", key, "-out", request, "-subj", subject)
    signer = ("-CA", pki.path("ca.crt"), "-CAkey", pki.path("ca.key"), "-CAcreateserial")
    out = ("-out", pki.path(f"{name}.crt"), "-days", _DAYS, "-extfile", extensions)
    _openssl("x509", "-req", "-in", request, *signer, *out)


def _openssl(*args: str | Path) -> None:
    command.run("openssl", *args, limit=60)
