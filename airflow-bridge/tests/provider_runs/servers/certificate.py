"""A certificate for 127.0.0.1, and the variables that let clients trust it."""

import ssl
from pathlib import Path

import trustme


class LoopbackCertificate:
    """A certificate of a new authority, whose own is in a file of the folder."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self._issued = authority.issue_cert("127.0.0.1", "localhost")
        path = folder / "authority.pem"
        authority.cert_pem.write_to_path(path)
        self.variables = {"SSL_CERT_FILE": str(path), "REQUESTS_CA_BUNDLE": str(path)}

    def context(self) -> ssl.SSLContext:
        """Return what a server needs."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._issued.configure_cert(context)
        return context
