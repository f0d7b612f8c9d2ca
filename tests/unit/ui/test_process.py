"""The two programs that serve the page: `torpor ui`, and `python -m torpor_ui` with TLS."""

import asyncio
import json
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import TypeAdapter, ValidationError
from torpor_ui.settings import Url

from tests.support.made_up_cluster import MadeUpApi
from tests.support.made_up_cluster.users import kubeconfig
from tests.support.page_server.browser import new_browser
from tests.support.ports import free_port

LIMIT_S = 180.0
TORPOR = str(Path(sys.executable).parent / "torpor")


@asynccontextmanager
async def program(*words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    started = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.communicate()


async def ends(started: asyncio.subprocess.Process, by: signal.Signals) -> int:
    started.send_signal(by)
    async with asyncio.timeout(LIMIT_S):
        return await started.wait()


async def test_torpor_ui_prints_a_link_and_ends_with_ctrl_c(cluster: MadeUpApi, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(kubeconfig(cluster.url, cluster.users, "data")))
    async with program(TORPOR, "ui", "--no-browser", "--kubeconfig", str(file)) as started:
        assert started.stdout is not None
        async with asyncio.timeout(LIMIT_S):
            link = (await started.stdout.readline()).decode().strip()
        address = link.partition("/login")[0]
        async with new_browser(address) as browser:
            async with browser.session.get(link) as response:
                assert response.status == 200
            assert (await browser.open())["user"] == "admin"
            async with browser.stream("api/runs/stream?ns=data") as events:
                await events.until("rows")
                assert await ends(started, signal.SIGINT) == 0


async def test_torpor_ui_names_a_port_that_is_taken(cluster: MadeUpApi, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(kubeconfig(cluster.url, cluster.users, "data")))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        async with program(TORPOR, "ui", "--no-browser", "--port", port, "--kubeconfig", str(file)) as started:
            async with asyncio.timeout(LIMIT_S):
                _, err = await started.communicate()
            assert started.returncode == 1
            assert f"cannot serve on port {port}" in err.decode()


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "tls.crt", folder / "tls.key"
    paths[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    paths[1].write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    return paths


async def test_the_page_of_a_cluster_serves_tls_and_its_health(cluster: MadeUpApi, tmp_path: Path) -> None:
    crt, key = certificate(tmp_path)
    (tmp_path / "secret").write_text("0123456789abcdef\n")
    port, health = free_port(), free_port()
    words = ["--mode=token", f"--url=https://localhost:{port}/page", f"--port={port}", f"--health-port={health}"]
    words += [f"--tls-cert={crt}", f"--tls-key={key}", f"--session-secret={tmp_path / 'secret'}"]
    async with program(sys.executable, "-m", "torpor_ui", *words, f"--api-url={cluster.url}") as started:
        await until_healthy(started, f"http://127.0.0.1:{health}/readyz")
        trusted = ssl.create_default_context(cafile=crt)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as session:
            async with session.get(f"https://localhost:{port}/page/api/session") as response:
                assert (await response.json())["login"] is False
            async with session.get(f"https://127.0.0.1:{port}/page/", ssl=False) as response:
                assert response.status == 403
        assert await ends(started, signal.SIGTERM) == 0


async def until_healthy(started: asyncio.subprocess.Process, url: str) -> None:
    async with asyncio.timeout(LIMIT_S), aiohttp.ClientSession() as session:
        while True:
            assert started.returncode is None, await started.communicate()
            try:
                async with session.get(url) as response:
                    assert response.status == 200
                    return
            except aiohttp.ClientError:
                await asyncio.sleep(0.1)


@pytest.mark.parametrize("url", ["https://h/a%20b", "https://h%2f/", "https://h/?a", "http://h/", "ftp://h/"])
def test_an_address_of_the_page_that_browsers_write_differently_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Url).validate_python(url)
