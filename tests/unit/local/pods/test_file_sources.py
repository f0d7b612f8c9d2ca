"""Files from outside of a local run: objects of a store, and repositories."""

import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from torpor_local.pods import file_sources
from torpor_local.pods.file_sources import SourceError

OBJECTS = {"day/a b": b"one", "day/sub/c": b"two", "../x": b"three"}


class ObjectRequests(BaseHTTPRequestHandler):
    """The API of S3 over OBJECTS, for requests without a signature."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query, key = parse_qs(address.query), unquote(address.path).removeprefix("/bucket/")
        if "list-type" in query:
            prefix = query.get("prefix", [""])[0]
            found = [name for name in OBJECTS if name.startswith(prefix)]
            entry = "<Contents><Key>{}</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>"
            listed = "".join(entry.format(name) for name in found)
            self._answer(200, f"<ListBucketResult>{listed}</ListBucketResult>".encode())
        elif key in OBJECTS and "Authorization" not in self.headers:
            self._answer(200, OBJECTS[key])
        else:
            self._answer(404, b"")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.send_header("ETag", '"x"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep the output of the tests clean."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), ObjectRequests)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_object_and_a_prefix_are_fetched(endpoint: str, tmp_path: Path) -> None:
    source = {"url": "s3://bucket/day/a b", "endpoint": endpoint}
    assert file_sources.write({"object": source}, tmp_path / "file", {})
    assert (tmp_path / "file").read_bytes() == b"one"
    file_sources.write({"object": source | {"url": "s3://bucket/day/"}}, tmp_path / "folder", {})
    assert (tmp_path / "folder/sub/c").read_bytes() == b"two"
    with pytest.raises(SourceError, match="there is no object"):
        file_sources.write({"object": source | {"url": "s3://bucket/none/"}}, tmp_path / "none", {})
    with pytest.raises(SourceError, match="SHA-256"):
        file_sources.write({"object": source | {"sha256": "0" * 64}}, tmp_path / "other", {})


@pytest.mark.attack
def test_a_source_has_no_more_bytes_than_in_a_pod(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_sources, "_BYTES_MAX", 5)
    source = {"url": "s3://bucket/day/a b", "endpoint": endpoint}
    file_sources.write({"object": source}, tmp_path / "small", {})
    with pytest.raises(SourceError, match="has more than 5 bytes"):  # 3 bytes of each of two objects
        file_sources.write({"object": source | {"url": "s3://bucket/day/"}}, tmp_path / "folder", {})
    monkeypatch.setattr(file_sources, "_BYTES_MAX", 2)
    with pytest.raises(SourceError, match="has more than 2 bytes"):
        file_sources.write({"http": {"url": f"{endpoint}/bucket/day/sub/c"}}, tmp_path / "web", {})


@pytest.mark.attack
def test_an_object_never_leaves_its_folder(endpoint: str, tmp_path: Path) -> None:
    source = {"url": "s3://bucket/", "endpoint": endpoint}
    with pytest.raises(SourceError):
        file_sources.write({"object": source}, tmp_path / "in" / "x", {})
    assert not (tmp_path / "in/../x").exists()
    assert not (tmp_path / "x").exists()


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    (folder / "sub/a").write_text("first")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    (folder / "sub/a").write_text("second")
    (folder / "link").symlink_to("/etc")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "y")
    return folder


def test_a_commit_of_a_repository_is_fetched(repository: Path, tmp_path: Path) -> None:
    source = {"url": f"file://{repository}"}
    file_sources.write({"git": source}, tmp_path / "whole", {})
    assert (tmp_path / "whole/sub/a").read_text() == "second"
    assert not (tmp_path / "whole/.git").exists()
    first = git(repository, "rev-parse", "HEAD~1")
    file_sources.write({"git": source | {"ref": first, "path": "sub"}}, tmp_path / "folder", {})
    assert (tmp_path / "folder/a").read_text() == "first"
    file_sources.write({"git": source | {"ref": "main", "path": "sub/a"}}, tmp_path / "file", {})
    assert (tmp_path / "file").read_text() == "second"
    with pytest.raises(SourceError, match="git:"):
        file_sources.write({"git": source | {"ref": "none"}}, tmp_path / "none", {})


@pytest.mark.attack
@pytest.mark.parametrize("path", ["link/passwd", "../x", ".git/config"])
def test_a_path_never_leaves_the_repository(repository: Path, tmp_path: Path, path: str) -> None:
    with pytest.raises(SourceError, match="the repository has no"):
        file_sources.write({"git": {"url": f"file://{repository}", "path": path}}, tmp_path / "x", {})


def test_a_variable_of_the_user_has_the_value_of_a_secret() -> None:
    reference = {"secretKeyRef": {"name": "s3-keys", "key": "access.id"}}
    container = {"env": [{"name": "TORPOR_FILE_SECRET_0", "valueFrom": reference}, {"name": "OTHER", "value": "x"}]}
    assert file_sources.secrets_of(container, {"S3_KEYS_ACCESS_ID": "me\n"}) == {"TORPOR_FILE_SECRET_0": "me"}
    with pytest.raises(SourceError, match="set the variable S3_KEYS_ACCESS_ID"):
        file_sources.secrets_of(container, {})


@pytest.mark.attack
def test_a_token_is_not_among_the_arguments_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "git"
    program.write_text('#!/bin/sh\necho "$@" >> "$0.seen"; env >> "$0.env"; exit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SourceError):
        file_sources.write({"git": {"url": "https://h/x", "token": "T"}}, tmp_path / "x", {"T": "hush"})
    assert "hush" not in (tmp_path / "git.seen").read_text()
    assert "followRedirects" in (tmp_path / "git.env").read_text()
