"""What a worker holds of results that are larger than itself, by its peak memory in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.fake_archive import FakeArchive

if TYPE_CHECKING:
    from collections.abc import Iterator

MB = 1_000_000

PROCESS = """
import json, resource, socket, sys, time
from torpor.runtime import main
from torpor.runtime.http import ApiResponse
from torpor.runtime.archive.client import ArchiveConnection, ArchiveAddress
from torpor.runtime.environment import Launch

port, about, arguments, source = int(sys.argv[1]), *map(json.loads, sys.argv[2:4]), sys.argv[4]
reports = []

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

module = type(sys)("authored")
module.peak, module.before = peak, []
exec(source, vars(module))
sys.modules["authored"] = module
spec = {"workflow": {"name": "w", "uid": "u"}, "task": "load", "python": "authored:load", "arguments": arguments}

def transport(method, path, body=None):
    if method == "PATCH":
        reports.append({op["path"]: op["value"] for op in body if op["op"] == "add"})
        return ApiResponse(200, {"metadata": {"uid": "u"}, "spec": spec, "status": {"state": "Running"}})
    status = {"state": "Succeeded", "stored": about}
    return ApiResponse(200, {"metadata": {"uid": "up"}, "spec": spec, "status": status})

def client(launch):
    connect = lambda: socket.create_connection(("127.0.0.1", port), timeout=30)
    return ArchiveConnection(ArchiveAddress("archive", connect, lambda: "t0ken", "default", "w-load"))

launch = Launch("default", "w-load", "u", "2026-01-01T00:00:00Z", 1, 0, 0, None, "p", "pu", "n", archive_url="https://archive")
clocks = time.time, time.monotonic, time.sleep, lambda: 0.5
main.run(main.RuntimeEnvironment(transport, *clocks, begin=lambda: None, end=lambda: False, archive=client), launch)
print(json.dumps([reports[-1], *module.before, peak()]))
"""


@pytest.fixture
def archive() -> Iterator[FakeArchive]:
    server = FakeArchive()
    yield server
    server.close()


def run(archive: FakeArchive, about: object, arguments: object, source: str) -> tuple[dict[str, object], list[int]]:
    given = [str(archive.port), json.dumps(about), json.dumps(arguments), source]
    done = subprocess.run([sys.executable, "-c", PROCESS, *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report, *peaks = json.loads(done.stdout.splitlines()[-1])
    return report, peaks


def test_two_hundred_results_of_a_megabyte_are_reduced_in_the_memory_of_one(archive: FakeArchive) -> None:
    about = archive.keep("list", (json.dumps("x" * 997).encode() + b"\n") * 1_000)
    source = """
def load(rows):
    total, after = 0, []
    for row in rows:
        total += sum(map(len, row))
        after.append(peak())
    return [total, after[2], after[-1]]
"""
    arguments = [{"name": "rows", "from": {"task": "many", "field": "results", "count": 200, "missing": ""}}]
    report, _ = run(archive, about, arguments, source)
    total, early, late = json.loads(str(report["/status/result"]))

    assert total == 200 * 997_000
    assert len(archive.requests) == 200
    assert late - early < 4 * MB


def test_a_list_of_thirty_megabytes_is_put_without_being_one_text(archive: FakeArchive) -> None:
    source = """
def load():
    made = [str(n) + "x" * 10_000 for n in range(3_000)]
    before.append(peak())
    return made
"""
    report, (before, after) = run(archive, {}, [], source)

    assert next(iter(archive.bodies.values())).count(b"\n") == 3_000
    assert "/status/stored" in report
    assert after - before < 4 * MB
