"""What the operator says of an archive that it cannot reach."""

import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest
from torpor_api.client.archive import ArchiveClient
from torpor_archive import tls
from torpor_operator.controller.archive import ArchiveUploader, NotArchivedError
from torpor_wire.archive_endpoint import ArchiveEndpoint


async def test_two_tries_that_fail_alike_are_told_alike(tmp_path: Path) -> None:
    """The words stand in a condition: were they others each time, each try would write the status."""
    trusted = tls.make("127.0.0.1", datetime.now(UTC)).certificate
    (token := tmp_path / "token").write_text("t")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    endpoint = ArchiveEndpoint(url=f"https://127.0.0.1:{port}", certificate=trusted)
    said: list[str] = []
    for _ in range(2):
        with pytest.raises(NotArchivedError, match="the archive cannot be reached") as caught:
            await ArchiveUploader(ArchiveClient(str(token)))(endpoint, "/v1/runs", [])
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert " at 0x" not in said[0]
