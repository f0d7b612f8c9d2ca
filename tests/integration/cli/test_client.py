"""The client of torpor against a real API server: logins, pages, watches, and patches with preconditions."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import yaml
from torpor_cli.__main__ import main
from torpor_cli.cluster import edit, errors
from torpor_cli.cluster.api import ApiClient, Object, ObjectSelection, parse_object
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.resources import WORKFLOWS
from torpor_cli.cluster.watch import Changed, ListSnapshot, watch
from torpor_cli.target import TargetOptions
from torpor_wire import constants

from tests.integration.conftest import Server


@pytest.fixture
def cluster(kubeconfig: Path, namespace: str) -> ClusterConnection:
    return connect(TargetOptions(kubeconfig=str(kubeconfig), namespace=namespace))


def create(cluster: ClusterConnection, name: str) -> Object:
    body = {"apiVersion": constants.API_VERSION, "kind": "Workflow", "metadata": {"name": name}}
    tasks = [{"name": "a", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}]
    return cluster.api.create(WORKFLOWS, cluster.namespace, {**body, "spec": {"tasks": tasks}})


def selection(cluster: ClusterConnection, **fields: str) -> ObjectSelection:
    return ObjectSelection(resource=WORKFLOWS, namespace=cluster.namespace, **fields)


def test_a_list_of_several_pages_has_every_object(cluster: ClusterConnection) -> None:
    for name in "abcde":
        create(cluster, name)
    pages = list(cluster.api.pages(selection(cluster), size=2))
    assert [len(page.items) for page in pages] == [2, 2, 1]
    assert [item["metadata"]["name"] for page in pages for item in page.items] == list("abcde")


def test_a_watch_reports_what_changes_after_its_list(cluster: ClusterConnection) -> None:
    workflow = create(cluster, "x")
    updates = watch(cluster.api, selection(cluster, fields="metadata.name=x"))
    first = next(updates)
    assert isinstance(first, ListSnapshot)
    assert [item["metadata"]["uid"] for item in first.items] == [workflow["metadata"]["uid"]]
    edit.set_spec(cluster.api, workflow, {"suspend": True})
    (second,) = islice(updates, 1)
    assert isinstance(second, Changed)
    assert second.item["spec"]["suspend"] is True


def test_a_version_that_the_server_no_longer_has_is_gone(cluster: ClusterConnection) -> None:
    query = {"watch": "true", "resourceVersion": "1", "timeoutSeconds": "5"}
    lines = cluster.api.http.lines(WORKFLOWS.path(cluster.namespace), query=query)
    with pytest.raises(errors.GoneError):
        _raise_errors(cluster.api, lines)


def _raise_errors(api: ApiClient, lines: Iterator[bytes]) -> None:
    """What `watch` does with the events of a response."""
    for line in lines:
        event = parse_object(line) or {}
        if event.get("type") == "ERROR":
            raise errors.from_response(event["object"]["code"], event["object"], place=api.http.access.place)


def test_a_change_after_a_lost_race_is_made_on_the_new_version(cluster: ClusterConnection) -> None:
    stale = create(cluster, "x")
    current = edit.set_spec(cluster.api, stale, {"parallelism": 7})
    suspended = edit.set_spec(cluster.api, stale, {"suspend": True})
    assert (suspended["spec"]["parallelism"], suspended["spec"]["suspend"]) == (7, True)
    generation, _, user = suspended["metadata"]["annotations"][constants.CHANGED_BY].partition(" ")
    assert int(generation) == suspended["metadata"]["generation"] == current["metadata"]["generation"] + 1
    assert user == edit.user_name(cluster.api)


def test_an_object_of_the_same_name_is_not_changed_in_place_of_another(cluster: ClusterConnection) -> None:
    former = create(cluster, "x")
    cluster.api.delete(WORKFLOWS, cluster.namespace, "x", uid=former["metadata"]["uid"])
    create(cluster, "x")
    with pytest.raises(errors.ConflictError):
        edit.set_spec(cluster.api, former, {"suspend": True})
    with pytest.raises(errors.ConflictError):
        cluster.api.delete(WORKFLOWS, cluster.namespace, "x", uid=former["metadata"]["uid"])


def test_a_token_file_and_an_exec_plugin_log_in(
    server: Server, kubeconfig: Path, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ann", "namespace": namespace}})
    (tmp_path / "token").write_text(server.token(namespace, "ann"))
    plugin = tmp_path / "login"
    credential = '{"kind": "ExecCredential", "status": {"token": "%s"}}'
    plugin.write_text(f"#!/bin/sh\nprintf '{credential}' \"$(cat {tmp_path}/token)\"\n")
    plugin.chmod(0o755)
    config = yaml.safe_load(kubeconfig.read_text())
    for user in ({"tokenFile": "token"}, {"exec": {"command": "./login", "interactiveMode": "Never"}}):
        config["users"] = [{"name": each["name"], "user": user} for each in config["users"]]
        (tmp_path / "config").write_text(yaml.safe_dump(config))
        assert main(["list", "--live", "--kubeconfig", str(tmp_path / "config"), "-n", namespace]) == 1
        message = capsys.readouterr().err
        assert f"system:serviceaccount:{namespace}:ann" in message
        assert message.count("\n") == 1


def test_two_contexts_are_two_users(server: Server, kubeconfig: Path, namespace: str, tmp_path: Path) -> None:
    server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bob", "namespace": namespace}})
    config = yaml.safe_load(kubeconfig.read_text())
    admin = config["contexts"][0]["context"]
    config["users"].append({"name": "bob", "user": {"token": server.token(namespace, "bob")}})
    config["contexts"].append({"name": "bob", "context": {**admin, "user": "bob"}})
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    for context, code in ((config["contexts"][0]["name"], 0), ("bob", 1)):
        command = ["--kubeconfig", str(tmp_path / "config"), "--context", context, "list", "--live", "-n", namespace]
        assert main(command) == code
