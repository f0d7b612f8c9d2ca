"""`torpor submit --template`, and files that name a template."""

import json
from pathlib import Path

import pytest

from tests.support.fake_cluster import FakeCluster, Object, Run
from tests.support.manifests import manifest

_DAY = {"name": "day", "required": True}
_LIMIT = {"name": "limit", "type": "integer", "default": 4}
_MODE = {"name": "mode", "enum": ["full", "delta"]}


@pytest.fixture
def ingest(cluster: FakeCluster) -> Object:
    return cluster.template("ingest", _DAY, _LIMIT, _MODE, spec={"params": {"bucket": "b"}})


def created(cluster: FakeCluster) -> Object:
    (item,) = cluster.objects["workflows"].values()
    return item


def test_the_run_has_only_the_template_and_the_params(cluster: FakeCluster, torpor: Run, ingest: Object) -> None:
    code, out, err = torpor("submit", "--template", "ingest", "-p", "day=2026-11-20", "-p", "limit=5")
    assert (code, err) == (0, "")
    assert out.strip() == created(cluster)["metadata"]["name"]
    assert created(cluster)["metadata"]["generateName"] == "ingest-"
    assert created(cluster)["spec"] == {
        "templateRef": {"name": "ingest"},
        "params": {"day": "2026-11-20", "limit": 5},
    }


def test_the_name_is_given_or_generated(cluster: FakeCluster, torpor: Run, ingest: Object) -> None:
    day = ("-p", "day=x")
    assert torpor("submit", "--template", "ingest", *day, "--name", "one")[1] == "one\n"
    assert torpor("submit", "--template", "ingest", *day, "--generate-name", "two-")[1].startswith("two-")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "param day is missing: template ingest requires it; add -p day=..."),
        (("-p", "day=x", "-p", "dya=y"), "there is no param 'dya'; did you mean day?"),
        (("-p", "day=x", "-p", "bucket=c"), "param bucket cannot be set: it is a constant of template ingest"),
        (("-p", "day=x", "-p", "limit=1.5"), "param limit must be an integer, not 1.5"),
        (("-p", "day=x", "-p", "limit=many"), "-p limit=many: the value must be an integer, as JSON"),
        (("-p", "day=x", "-p", "mode=fast"), 'param mode must be one of "full", "delta", not "fast"'),
        (("-p", "day"), "-p 'day' has no value; write -p NAME=VALUE"),
        (("x.yaml",), "write files, --template NAME or --cluster-template NAME; see `torpor submit --help`"),
        (("--name", "a", "--generate-name", "b"), "--name and --generate-name exclude each other; use one"),
    ],
)
def test_what_does_not_fit_the_template_is_rejected_before_the_creation(
    cluster: FakeCluster, torpor: Run, ingest: Object, options: tuple[str, ...], message: str
) -> None:
    assert torpor("submit", "--template", "ingest", *options) == (2, "", f"torpor: {message}\n")
    assert cluster.objects["workflows"] == {}


def test_an_unknown_template_suggests_the_nearest(torpor: Run, ingest: Object) -> None:
    message = "torpor: there is no template 'ingset' in namespace team; did you mean ingest?\n"
    assert torpor("submit", "--template", "ingset") == (1, "", message)


def test_a_name_needs_a_template(torpor: Run) -> None:
    code, _, err = torpor("submit", "x.yaml", "--name", "a")
    assert (code, err) == (2, "torpor: --name and --generate-name are for a template; a file has metadata.name\n")


def test_params_of_a_file_with_a_template_have_the_types_of_the_template(
    cluster: FakeCluster, torpor: Run, ingest: Object, tmp_path: Path
) -> None:
    file = tmp_path / "run.yaml"
    spec = {"templateRef": {"name": "ingest"}, "params": {"day": "2026-11-20"}}
    body = manifest("Workflow", "x", spec)
    file.write_text(json.dumps(body))
    assert torpor("submit", str(file), "-p", "limit=5")[0] == 0
    assert created(cluster)["spec"]["params"] == {"day": "2026-11-20", "limit": 5}
    code, _, err = torpor("submit", str(file), "-p", "limt=5")
    assert (code, err) == (2, "torpor: there is no param 'limt'; did you mean limit?\n")


def test_a_message_of_the_api_server_names_no_file(cluster: FakeCluster, torpor: Run, ingest: Object) -> None:
    cluster.rejected["workflows"] = "params.day: too long"
    assert torpor("submit", "--template", "ingest", "-p", "day=x")[2] == "torpor: params.day: too long\n"


@pytest.fixture
def platform(cluster: FakeCluster) -> Object:
    workflow = {"tasks": [{"name": "a", "python": "m:f"}]}
    spec = {"params": [_DAY, _LIMIT], "allowedNamespaces": {"names": ["team"]}, "workflow": workflow}
    body = {**manifest("ClusterWorkflowTemplate", "platform", spec), "metadata": {"name": "platform", "uid": "p"}}
    return cluster.put("clusterworkflowtemplates", body)


def test_a_run_of_a_cluster_template_names_its_kind(cluster: FakeCluster, torpor: Run, platform: Object) -> None:
    code, out, err = torpor("submit", "--cluster-template", "platform", "-p", "day=2026-11-20", "-p", "limit=5")
    assert (code, err) == (0, "")
    assert out.strip() == created(cluster)["metadata"]["name"]
    assert created(cluster)["metadata"]["generateName"] == "platform-"
    assert created(cluster)["spec"] == {
        "templateRef": {"kind": "ClusterWorkflowTemplate", "name": "platform"},
        "params": {"day": "2026-11-20", "limit": 5},
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cluster-template", "platform"), "param day is missing: template platform requires it; add -p day=..."),
        (("--cluster-template", "paltform"), "there is no cluster template 'paltform'; did you mean platform?"),
        (("--cluster-template", "x"), "there is no cluster template 'x'; the cluster has platform"),
        (
            ("--cluster-template", "platform", "--template", "ingest"),
            "write files, --template NAME or --cluster-template NAME; see `torpor submit --help`",
        ),
    ],
)
def test_what_does_not_fit_a_cluster_template_is_rejected(
    cluster: FakeCluster, torpor: Run, platform: Object, arguments: tuple[str, ...], message: str
) -> None:
    assert torpor("submit", *arguments)[1:] == ("", f"torpor: {message}\n")
    assert cluster.objects["workflows"] == {}


def test_who_may_not_read_cluster_templates_is_told_the_role(
    cluster: FakeCluster, torpor: Run, platform: Object
) -> None:
    cluster.forbidden.add("clusterworkflowtemplates")
    advice = "an administrator binds ClusterRole torpor-cluster-template-view to you by a ClusterRoleBinding"
    message = f"torpor: you may not read clusterworkflowtemplates; {advice}\n"
    assert torpor("submit", "--cluster-template", "platform", "-p", "day=x") == (1, "", message)
