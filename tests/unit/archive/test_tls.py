"""A certificate of the archive's own is trusted for its host, and is no good for another or at another time."""

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from torpor_archive import tls

_NOW = datetime.now(UTC)


@pytest.mark.parametrize("host", ["torpor-archive.torpor-system.svc", "127.0.0.1", "fd00::1"])
def test_a_pair_serves_its_host_for_years(host: str) -> None:
    pair = tls.make(host, _NOW)
    assert tls.serves(pair, host, _NOW)
    assert tls.serves(pair, host, _NOW + timedelta(days=3600))
    assert not tls.serves(pair, host, _NOW + timedelta(days=3700))
    assert not tls.serves(pair, "another.torpor-system.svc", _NOW)


def test_what_is_no_pair_serves_nobody() -> None:
    pair, other = tls.make("a", _NOW), tls.make("a", _NOW)
    assert not tls.serves(tls.Pair(key=other.key, certificate=pair.certificate), "a", _NOW)
    assert not tls.serves(tls.Pair(key="", certificate=""), "a", _NOW)


def test_whoever_has_the_certificate_trusts_the_server_and_strictly(tmp_path: Path) -> None:
    pair = tls.make("127.0.0.1", _NOW)
    path = tmp_path / "pair.pem"
    path.write_text(pair.key + pair.certificate)
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(path)
    trusting = ssl.create_default_context(cadata=pair.certificate)
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with served.wrap_socket(theirs, server_side=True) as connection:
            connection.sendall(b"hello")

    thread = threading.Thread(target=serve)
    thread.start()
    with trusting.wrap_socket(ours, server_hostname="127.0.0.1") as connection:
        assert connection.recv(5) == b"hello"
    thread.join()
