"""Runs that only the archive has."""

import json

import pytest
from torpor_demo.kubectl import Kubectl

from tests.e2e.cli.conftest import Terminal, pause
from tests.e2e.support.rights import bind


@pytest.fixture(scope="module")
def gone(torpor: Terminal) -> str:
    """The name of a run that the archive has and the cluster has not."""
    name = torpor.submit(pause(length="${params.length}"), params={"length": "50ms"}, ttlAfterFinished="1s")
    torpor.until(lambda: f"/{name}\n" not in torpor.ok("list", "--live", "-o", "name"), f"the deletion of {name}")
    return name


def test_list_tells_archived_runs_from_live_ones(torpor: Terminal, gone: str) -> None:
    live = torpor.submit(pause())
    rows = {line.split()[0]: line.split()[-1] for line in torpor.ok("list").splitlines()}
    assert (rows[gone], rows[live]) == ("archive", "cluster")
    assert f"/{gone}\n" in torpor.ok("list", "--state", "succeeded", "--since", "1h", "-o", "name")
    assert f"/{gone}\n" not in torpor.ok("list", "--state", "failed", "-o", "name")


def test_get_and_wait_read_the_archive(torpor: Terminal, gone: str) -> None:
    shown = torpor.run("get", gone)
    assert shown.code == 0
    assert [line.split()[1] for line in shown.out.splitlines()[1:2]] == ["Succeeded"]
    assert "pause" in shown.out
    assert shown.err == "this run is in the archive; the cluster no longer has it\n"
    assert torpor.ok("wait", gone).startswith(f"{gone} Succeeded after ")


def test_resubmit_creates_a_run_from_an_archived_one(torpor: Terminal, gone: str) -> None:
    name = torpor.ok("resubmit", gone, "-p", "length=60ms").strip()
    assert json.loads(torpor.ok("get", name, "-o", "json"))["spec"]["params"] == {"length": "60ms"}


def test_a_user_with_view_reads_the_archive_of_the_namespace(torpor: Terminal, kubectl: Kubectl, gone: str) -> None:
    stranger = torpor.as_user("eve").run("get", gone)
    assert stranger.code == 1
    bind(kubectl, torpor.namespace, "view", user="ann")
    shown = torpor.as_user("ann").run("get", gone)
    assert shown.code == 0
    assert "this run is in the archive" in shown.err
