"""suspend, resume, stop, cancel, delete, approve, reject, retry and resubmit on a real cluster."""

import json
from typing import Any

import pytest
from torpor_demo.kubectl import Kubectl

from tests.e2e.cli.conftest import Terminal, ask, broken, manifest, pause
from tests.e2e.support.rights import bind


def test_suspend_and_resume_say_who_did_it(torpor: Terminal) -> None:
    name = torpor.submit(ask())
    torpor.ok("wait", name, "--for", "running", "--timeout", "5m")
    assert torpor.ok("suspend", name) == f"workflow.torpor.dev/{name} suspended\n"
    torpor.ok("wait", name, "--for", "suspended", "--timeout", "5m")
    body = json.loads(torpor.ok("get", name, "-o", "json"))
    generation, _, user = body["metadata"]["annotations"]["torpor.dev/changed-by"].partition(" ")
    assert (int(generation), bool(user)) == (body["metadata"]["generation"], True)
    torpor.ok("resume", name)
    torpor.ok("wait", name, "--for", "running", "--timeout", "5m")
    torpor.ok("suspend", name, "-o", "name")


@pytest.mark.parametrize(("verb", "hooks"), [("cancel", False), ("stop", True)])
def test_cancel_and_stop_end_a_run_without_and_with_its_hooks(torpor: Terminal, verb: str, hooks: bool) -> None:
    name = torpor.submit(ask(), pause("bye", hook="end"))
    torpor.ok("wait", name, "--for", "running", "--timeout", "5m")
    torpor.ok(verb, name)
    assert torpor.run("wait", name, "--timeout", "5m").code == 4
    rows = [line.split() for line in torpor.ok("get", name).splitlines()]
    assert next(row for row in rows if "bye" in row)[2] == ("Succeeded" if hooks else "Cancelled")
    over = torpor.run(verb, name)
    assert (over.code, over.err) == (1, f"torpor: cannot {verb} {name}: it has ended as Cancelled\n")


def test_a_deleted_run_is_gone(torpor: Terminal) -> None:
    name = torpor.submit(pause())
    torpor.ok("wait", name, "--timeout", "5m")
    assert torpor.ok("delete", name) == f"workflow.torpor.dev/{name} deleted\n"
    assert f"/{name}\n" not in torpor.ok("list", "--live", "-o", "name")


def test_approve_answers_the_only_question_of_a_run(torpor: Terminal) -> None:
    form = {"question": "Deploy 1.4?", "fields": [{"name": "ticket", "pattern": "CHG-[0-9]+"}], "options": ["a", "b"]}
    name = torpor.submit({**ask(), "trigger": {"class": "approval", "kwargs": form}, "result": "event.fields.ticket"})
    _until_asked(torpor, name)
    refused = torpor.run("approve", name, "--option", "b")
    assert refused.err.startswith("torpor: ticket is missing; answer with --field ticket=STRING"), refused
    output = torpor.ok("approve", name, "--note", "looks good", "--field", "ticket=CHG-17", "--option", "b")
    assert output.startswith("approved: taskrun.torpor.dev/")
    assert "Deploy 1.4?" in output
    assert torpor.run("wait", name, "--timeout", "5m").code == 0
    assert torpor.ok("result", f"{name}/ask") == '"CHG-17"\n'
    again = torpor.run("approve", name)
    assert (again.code, again.err) == (1, "torpor: ask does not wait for an approval: it is Succeeded\n")


def test_reject_names_the_task_where_several_ask(torpor: Terminal) -> None:
    name = torpor.submit(ask("one", failWhen="!event.approved"), ask("two"))
    _until_asked(torpor, name, 2)
    which = torpor.run("reject", name)
    assert (which.code, which.err) == (2, f"torpor: 2 tasks wait for an approval; name one: {name}/one, {name}/two\n")
    torpor.ok("reject", f"{name}/one", "--note", "not today")
    torpor.ok("approve", f"{name}/two")
    assert torpor.run("wait", name, "--timeout", "5m").code == 3


def _until_asked(torpor: Terminal, name: str, number: int = 1) -> None:
    torpor.until(lambda: torpor.ok("get", name).count("Deferred") == number, f"{number} questions of {name}")


def _retry(torpor: Terminal, name: str, plan: str) -> None:
    """Run everything that failed again. No operator leads for a while if another test has just stopped the leader."""
    retried = torpor.run("retry", name, "-y")
    answered = "no operator has answered yet" not in retried.err
    accepted = f"workflow.torpor.dev/{name} runs these tasks again\n" if answered else ""
    assert (retried.code, retried.out) == (0, f"{plan}{accepted}"), retried
    torpor.until(lambda: _status(torpor, name).get("clears") == 1, f"{name} to run again")


def _status(torpor: Terminal, name: str) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(torpor.ok("get", name, "-o", "json"))["status"]
    return status


def test_retry_says_first_what_runs_again(torpor: Terminal) -> None:
    name = torpor.submit(pause("first"), broken("second", after=["first"]), pause("third", after=["second"]))
    assert torpor.run("wait", name, "--timeout", "5m").code == 3
    plan = "Runs again:\n  second (1 TaskRun)\n  third (not started yet)\n"
    assert torpor.ok("retry", name, "--dry-run") == plan
    unasked = torpor.run("retry", name)
    assert (unasked.code, unasked.out) == (2, plan)
    _retry(torpor, name, plan)
    assert torpor.run("wait", name, "--timeout", "5m").code == 3
    assert torpor.ok("retry", name, "first", "--dry-run").splitlines()[1:3] == [
        "  first (1 TaskRun)",
        "  second (1 TaskRun, depends on these)",
    ]


def test_resubmit_creates_another_run_with_other_params(torpor: Terminal) -> None:
    name = torpor.submit(pause(length="${params.length}"), params={"length": "50ms"})
    other = torpor.ok("resubmit", name, "-p", "length=60ms").strip()
    assert other.startswith("cli-")
    assert other != name
    assert json.loads(torpor.ok("get", other, "-o", "json"))["spec"]["params"] == {"length": "60ms"}
    assert torpor.run("wait", other, "--timeout", "5m").code == 0


def test_view_reads_and_edit_changes(torpor: Terminal, kubectl: Kubectl) -> None:
    for role in ("view", "edit"):
        bind(kubectl, torpor.namespace, role, user=role)
    viewer, editor, stranger = (torpor.as_user(user) for user in ("view", "edit", "stranger"))
    name = editor.submit(ask())
    assert name in viewer.ok("get", name)
    assert name in viewer.ok("list", "--live", "-o", "name")
    for forbidden in (viewer.run("cancel", name), viewer.run("submit", "-", stdin=manifest(pause()))):
        assert (forbidden.code, forbidden.err.count("\n")) == (1, 1)
        assert "edit to change" in forbidden.err
    unseen = stranger.run("get", name)
    assert (unseen.code, unseen.err.count("\n")) == (1, 1)
    assert "ClusterRole view" in unseen.err
    _until_asked(viewer, name)
    assert editor.run("approve", name).code == 1  # approvers are bound by name, or are admins
    approver = torpor.as_user("boss")
    bind(kubectl, torpor.namespace, "torpor-approve", user="boss")
    assert approver.run("approve", f"{name}/aks").code == 1
    asked = editor.submit(ask())
    _until_asked(viewer, asked)
    approver.ok("approve", asked)
    assert viewer.run("wait", asked, "--timeout", "5m").code == 0
    editor.ok("cancel", name)
    assert editor.run("wait", name, "--timeout", "5m").code == 4
    _retry(editor, name, "Runs again:\n  ask (1 TaskRun)\n")
    editor.ok("cancel", name)
    editor.ok("delete", name)
