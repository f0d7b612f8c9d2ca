"""`torpor result`: JSON, bytes and files, from the TaskRun or the archive."""

import hashlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_cluster import FakeCluster, Object, Run

BINARY = bytes(range(256)) * 1000


@pytest.fixture(autouse=True)
def run(cluster: FakeCluster) -> Object:
    return cluster.workflow("ingest", "load", "rest")


def keep(cluster: FakeCluster, kind: str, body: bytes, *path: int, **fields: Any) -> Object:
    """A TaskRun whose result is in the archive."""
    digest = hashlib.sha256(body).hexdigest()
    taskrun = cluster.taskrun(
        "ingest", "load", *path, stored={"type": kind, "size": len(body), "digest": digest, **fields}
    )
    cluster.results[taskrun["metadata"]["uid"], digest] = body
    return taskrun


def on_terminal(cluster: FakeCluster, folder: Path, *arguments: str) -> tuple[int, str]:
    """Run torpor with a terminal as its standard output and error: exit code and what the terminal gets."""
    master, terminal = pty.openpty()
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig(folder)), "NO_PROXY": "*", "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-m", "torpor_cli", *arguments], stdout=terminal, stderr=terminal, env=environment
    ) as process:
        os.close(terminal)
        output = b""
        try:
            while piece := os.read(master, 4096):
                output += piece
        except OSError:  # EIO: the other end is closed
            pass
        os.close(master)
    return process.returncode, output.decode()


def test_a_result_on_the_taskrun_is_printed_as_json_text(cluster: FakeCluster, torpor: Run) -> None:
    cluster.taskrun("ingest", "load", result='{"b":1.0,"a":"ü"}')
    assert torpor("result", "ingest/load") == (0, '{"b":1.0,"a":"ü"}\n', "")


def test_an_instance_of_a_mapped_task_is_named_by_its_index(cluster: FakeCluster, torpor: Run) -> None:
    for number in range(3):
        cluster.taskrun("ingest", "load", number, result=str(number))
    assert torpor("result", "ingest/load/2")[:2] == (0, "2\n")
    code, _, err = torpor("result", "ingest/load")
    assert (code, err) == (2, "torpor: load has 3 instances; name one of them, such as ingest/load/0\n")


def mapped(run: Object) -> None:
    run["spec"]["tasks"][0]["expand"] = [{"name": "n", "over": [1]}]


def test_the_results_of_a_mapped_task_are_json_lines_with_indexes(
    cluster: FakeCluster, torpor: Run, run: Object, tmp_path: Path
) -> None:
    mapped(run)
    for number in (10, 2, 0):
        cluster.taskrun("ingest", "load", number, result=json.dumps({"n": number, "text": "a\nb"}))
    keep(cluster, "list", b"1\n2\n", 3)
    keep(cluster, "file", BINARY, 4, name="rows.bin")
    cluster.taskrun("ingest", "load", 5, state="Failed")
    cluster.taskrun("ingest", "load", 6)
    code, out, err = torpor("result", "ingest/load")
    assert (code, err) == (0, "without a result: 1 Failed\n")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"index": "0", "result": {"n": 0, "text": "a\nb"}},
        {"index": "2", "result": {"n": 2, "text": "a\nb"}},
        {"index": "3", "result": [1, 2]},
        {"index": "4", "file": {"name": "rows.bin", "type": "file", "size": 256_000}},
        {"index": "6", "result": None},
        {"index": "10", "result": {"n": 10, "text": "a\nb"}},
    ]
    assert torpor("result", "ingest/load/2")[1] == '{"n": 2, "text": "a\\nb"}\n'
    target = tmp_path / "all.jsonl"
    assert torpor("result", "ingest/load", "-o", str(target))[0] == 0
    assert target.read_text() == out
    assert torpor("result", "ingest/load", "-o", str(tmp_path))[0] == 2


@pytest.mark.attack
@pytest.mark.parametrize("text", ['1}\n{"index": "9", "result": 2', "[" * 4000, "\x1b[2J", "1\n"])
def test_a_result_of_an_instance_is_never_a_line_of_another(
    cluster: FakeCluster, torpor: Run, run: Object, text: str
) -> None:
    mapped(run)
    cluster.taskrun("ingest", "load", 0, result=text)
    (line,) = torpor("result", "ingest/load")[1].splitlines()
    assert json.loads(line) == {"index": "0", "result": 1 if text == "1\n" else None}


def test_a_mapped_task_without_instances_points_to_why(cluster: FakeCluster, torpor: Run, run: Object) -> None:
    mapped(run)
    message = "torpor: load has no instances yet; see `torpor why ingest/load`\n"
    assert torpor("result", "ingest/load") == (1, "", message)
    assert cluster.objects["workflows"]


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("list", b'1\n{"a": 2}\n"x\\ny"\n', '[1,{"a": 2},"x\\ny"]'),
        ("list", b"", "[]"),
        ("object", b'["a",1.0]\n["b]\\"",[2,3]]\n', '{"a":1.0,"b]\\"":[2,3]}'),
        ("object", b"", "{}"),
        ("string", b'"long"', '"long"'),
        ("number", b"12", "12"),
    ],
)
def test_json_of_the_archive_is_printed_as_the_value(
    cluster: FakeCluster, torpor: Run, kind: str, body: bytes, text: str
) -> None:
    keep(cluster, kind, body)
    code, out, err = torpor("result", "ingest/load")
    assert (code, out, err) == (0, f"{text}\n", "")
    json.loads(out)


def test_bytes_are_exact_in_a_file_and_in_a_pipe(cluster: FakeCluster, torpor: Run, tmp_path: Path) -> None:
    keep(cluster, "bytes", BINARY)
    target = tmp_path / "out.bin"
    code, out, err = torpor("result", "ingest/load", "-o", str(target))
    assert (code, out, err) == (0, "", f"{target}: 256000 bytes\n")
    assert target.read_bytes() == BINARY
    piped = subprocess.run(
        [sys.executable, "-m", "torpor_cli", "result", "ingest/load"], capture_output=True, check=True
    )
    assert piped.stdout == BINARY


def test_a_file_is_written_into_a_folder_under_its_name(cluster: FakeCluster, torpor: Run, tmp_path: Path) -> None:
    keep(cluster, "file", b"a,b\n", name="rows.csv")
    assert torpor("result", "ingest/load", "-o", str(tmp_path))[0] == 0
    assert (tmp_path / "rows.csv").read_bytes() == b"a,b\n"


@pytest.mark.attack
@pytest.mark.parametrize(
    "name", ["../evil", "/etc/passwd", "..", "a\x1bb", "", ".bashrc", "-rf", "~root", "a\\b", "C:x", "a\u202eb"]
)
def test_a_file_name_from_the_cluster_never_leaves_the_folder(
    cluster: FakeCluster, torpor: Run, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    keep(cluster, "file", b"x", name=name)
    code, _, err = torpor("result", "ingest/load", "-o", str(folder))
    assert (code, list(folder.iterdir())) == (2, [])
    assert "name a file with -o" in err


@pytest.mark.attack
@pytest.mark.parametrize("kind", ["file", "link", "dangling", "folder", "pipe"])
def test_a_file_name_from_the_cluster_replaces_nothing(
    cluster: FakeCluster, torpor: Run, tmp_path: Path, kind: str
) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.write_text("before")
    target = folder / "Makefile"
    match kind:
        case "file":
            target.write_text("before")
        case "link":
            target.symlink_to(other)
        case "dangling":
            target.symlink_to(tmp_path / "absent")
        case "folder":
            target.mkdir()
        case _:
            os.mkfifo(target)
    keep(cluster, "file", b"x", name="Makefile")
    code, _, err = torpor("result", "ingest/load", "-o", str(folder))
    assert (code, err) == (1, f"torpor: {target} exists already; name a file with -o\n")
    assert (list(folder.iterdir()), other.read_text()) == ([target], "before")
    assert not (tmp_path / "absent").exists()
    assert kind != "file" or target.read_text() == "before"


def test_a_file_that_the_user_names_is_replaced(cluster: FakeCluster, torpor: Run, tmp_path: Path) -> None:
    keep(cluster, "file", b"new", name="rows.csv")
    target = tmp_path / "folder" / ".hidden"
    target.parent.mkdir()
    target.write_text("before")
    assert torpor("result", "ingest/load", "-o", str(target))[0] == 0
    assert [(path.name, path.read_bytes()) for path in target.parent.iterdir()] == [(".hidden", b"new")]


def test_a_body_that_differs_from_its_taskrun_is_refused_and_not_stored(
    cluster: FakeCluster, torpor: Run, tmp_path: Path
) -> None:
    taskrun = keep(cluster, "bytes", BINARY)
    cluster.results = {key: body[:-1] for key, body in cluster.results.items()}
    target = tmp_path / "folder" / "out.bin"
    target.parent.mkdir()
    target.write_text("before")
    code, _, err = torpor("result", "ingest/load", "-o", str(target))
    assert (code, err) == (1, "torpor: the archive sent 255999 of 256000 bytes, or other ones; try again\n")
    assert [path.read_text() for path in target.parent.iterdir()] == ["before"]
    assert taskrun["status"]["stored"]["size"] == 256_000


def test_a_terminal_gets_no_binary_data(cluster: FakeCluster, tmp_path: Path) -> None:
    keep(cluster, "file", BINARY, name="rows.bin")
    code, shown = on_terminal(cluster, tmp_path, "result", "ingest/load")
    assert code == 2
    assert shown == "torpor: the result is the file rows.bin of 256000 bytes; write it with -o FILE\r\n"


def test_escape_sequences_are_visible_on_a_terminal_and_exact_in_a_pipe(
    cluster: FakeCluster, torpor: Run, tmp_path: Path
) -> None:
    text = '"a\x9b2Jb\u202ec\x7f"'
    cluster.taskrun("ingest", "load", result=text)
    code, shown = on_terminal(cluster, tmp_path, "result", "ingest/load")
    assert (code, shown) == (0, '"a\\x9b2Jb\\u202ec\\x7f"\r\n')
    assert torpor("result", "ingest/load")[1] == f"{text}\n"
    keep(cluster, "bytes", b"\x1b[2J" + "ü".encode())
    assert on_terminal(cluster, tmp_path, "result", "ingest/load", "-o", "-") == (0, "\\x1b[2Jü")


@pytest.mark.parametrize("state", ["Scheduled", "Running", "Deferred", "UpForRetry", "Failed", "Skipped", "Cancelled"])
def test_a_task_without_a_result_points_to_why(cluster: FakeCluster, torpor: Run, state: str) -> None:
    cluster.taskrun("ingest", "load", state=state)
    code, out, err = torpor("result", "ingest/load")
    assert (code, out) == (1, "")
    assert err == f"torpor: load has no result: its state is {state}; see `torpor why ingest/load`\n"


def test_unknown_names_and_a_task_that_has_not_started_are_one_line(cluster: FakeCluster, torpor: Run) -> None:
    cluster.taskrun("ingest", "load", 0, result="1")
    for arguments, code, words in (
        (("ingest",), 1, "ingest has no spec.result; name a task: torpor result ingest/TASK"),
        (("ingest/lod",), 1, "did you mean load?"),
        (("ingest/load/5",), 1, "load has 0"),
        (("ingest/rest",), 1, "it has not started"),
        (("ingest/load/x",), 2, "is not an index"),
    ):
        exit_code, out, err = torpor("result", *arguments)
        assert (exit_code, out, err.count("\n")) == (code, "", 1), arguments
        assert words in err


def test_the_result_of_an_archived_run(cluster: FakeCluster, torpor: Run) -> None:
    keep(cluster, "list", b"1\n2\n")
    objects = [cluster.objects["workflows"].pop("ingest"), *cluster.objects["taskruns"].values()]
    cluster.objects["taskruns"].clear()
    cluster.archive_run(*objects)
    assert torpor("result", "ingest/load") == (0, "[1,2]\n", "")


def test_without_the_archive_the_error_says_so(cluster: FakeCluster, torpor: Run, tmp_path: Path) -> None:
    keep(cluster, "list", b"1\n")
    cluster.archive_away = True
    code, out, err = torpor("result", "ingest/load", "-o", str(tmp_path / "x"))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "the archive cannot be read" in err
    assert not (tmp_path / "x").exists()


def test_a_format_is_no_file(torpor: Run) -> None:
    message = "torpor: -o takes a file, not a format; omit it to print the result, or write -o ./json\n"
    assert torpor("result", "ingest/load", "-o", "json") == (2, "", message)


def test_the_result_of_a_run_is_that_of_its_status(cluster: FakeCluster, torpor: Run, run: Object) -> None:
    run["spec"]["result"] = "tasks.load.result"
    code, _, err = torpor("result", "ingest")
    assert (code, err) == (1, "torpor: ingest has no result: its state is Running; see `torpor why ingest`\n")
    run["status"] |= {"state": "Succeeded", "result": '{"rows":3}'}
    assert torpor("result", "ingest") == (0, '{"rows":3}\n', "")


def test_the_result_of_a_run_in_the_archive_is_that_of_its_taskrun(
    cluster: FakeCluster, torpor: Run, run: Object, tmp_path: Path
) -> None:
    taskrun = keep(cluster, "file", BINARY, name="rows.bin")
    run["spec"]["result"] = "tasks.load.result"
    identity = {"taskRun": taskrun["metadata"]["name"], "uid": taskrun["metadata"]["uid"]}
    run["status"] |= {"state": "Succeeded", "stored": taskrun["status"]["stored"] | identity}
    assert torpor("result", "ingest", "-o", str(tmp_path))[0] == 0
    assert (tmp_path / "rows.bin").read_bytes() == BINARY
