"""The archive's self-signed certificate is valid for its host and period only."""

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from torpor_archive import tls

_NOW = datetime.now(UTC)


@pytest.mark.parametrize("host", ["torpor-archive.torpor-system.svc", "127.0.0.1", "fd00::1"])
def test_a_key_pair_is_valid_for_its_host_for_years(host: str) -> None:
    key_pair = tls.create_key_pair(host, _NOW)
    assert tls.is_valid_for(key_pair, host, _NOW)
    assert tls.is_valid_for(key_pair, host, _NOW + timedelta(days=3600))
    assert not tls.is_valid_for(key_pair, host, _NOW + timedelta(days=3700))
    assert not tls.is_valid_for(key_pair, "another.torpor-system.svc", _NOW)


def test_a_malformed_key_pair_is_invalid() -> None:
    key_pair, other = tls.create_key_pair("a", _NOW), tls.create_key_pair("a", _NOW)
    assert not tls.is_valid_for(tls.KeyPair(key=other.key, certificate=key_pair.certificate), "a", _NOW)
    assert not tls.is_valid_for(tls.KeyPair(key="", certificate=""), "a", _NOW)


def test_a_client_with_the_certificate_trusts_the_server(tmp_path: Path) -> None:
    key_pair = tls.create_key_pair("127.0.0.1", _NOW)
    path = tmp_path / "key_pair.pem"
    path.write_text(key_pair.key + key_pair.certificate)
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(path)
    trusting = ssl.create_default_context(cadata=key_pair.certificate)
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
