"""The configuration of kind and of the nodes, and which images a node already has."""

import json
import tarfile
from pathlib import Path

import pytest
from torpor_dev import cluster, engine, extra_node, kind, load
from torpor_dev.console import DevError, NothingWorksError
from torpor_dev.host import HostFacts
from torpor_dev.offline import image_archive, node_image, pod_network

LISTING = """\
REF                            TYPE                 DIGEST      SIZE    PLATFORMS   LABELS
docker.io/library/census:dev   application/vnd.list sha256:aa   1.0 MiB linux/amd64 -
"""


def host(*, root: bool = True, debian: bool = True) -> HostFacts:
    return HostFacts(linux=True, debian=debian, root=root, systemd=False, cgroup_v1=False, sys_resource=True)


def configuration(*, nodes: int = 1, official: bool = False, cgroup_v1: bool = False) -> str:
    return kind.config(nodes=nodes, official=official, cgroup_v1=cgroup_v1)


def test_one_node_is_a_control_plane_and_more_are_workers() -> None:
    roles = [node["role"] for node in json.loads(configuration(nodes=3))["nodes"]]
    assert roles == ["control-plane", "worker", "worker"]


def test_only_an_image_built_here_lacks_kinds_network() -> None:
    assert json.loads(configuration(official=False))["networking"] == {"disableDefaultCNI": True}
    assert json.loads(configuration(official=True))["networking"] == {"disableDefaultCNI": False}


def test_the_kubelet_is_configured_for_cgroup_v1_only_where_it_is() -> None:
    assert "failCgroupV1" in configuration(cgroup_v1=True)
    assert "failCgroupV1" not in configuration(cgroup_v1=False)


def test_a_node_takes_a_hundred_waits_that_block_beside_its_own_pods() -> None:
    for v1 in (True, False):
        kubelet = json.loads(json.loads(configuration(cgroup_v1=v1))["kubeadmConfigPatches"][0])
        assert (kubelet["kind"], kubelet["maxPods"]) == ("KubeletConfiguration", 200)


def test_client_rates_are_raised_in_both_of_kubeadms_forms() -> None:
    older, newer = (
        json.loads(json.loads(configuration(official=official))["kubeadmConfigPatches"][1])
        for official in (False, True)
    )
    for component in ("controllerManager", "scheduler"):
        assert older[component]["extraArgs"]["kube-api-qps"] == "200"
        assert {"name": "kube-api-qps", "value": "200"} in newer[component]["extraArgs"]


def test_a_node_gets_its_subnet_and_routes_to_the_others() -> None:
    subnets = {"a": "10.244.0.0/24", "b": "10.244.1.0/24"}
    script = pod_network.script("a", subnets, {"a": "172.18.0.2", "b": "172.18.0.3"})
    assert "ip route replace 10.244.1.0/24 via 172.18.0.3" in script
    assert "10.244.0.0/24 via" not in script
    assert json.loads(pod_network.conflist("10.244.0.0/24"))["plugins"][0]["ipam"]["ranges"] == [
        [{"subnet": "10.244.0.0/24"}]
    ]


def test_a_spare_node_is_tainted_before_anything_can_land_on_it() -> None:
    configuration = json.loads(extra_node.configuration("control-plane:6443", "abcdef.0123456789abcdef"))
    assert configuration["nodeRegistration"]["taints"] == [{"key": extra_node.TAINT, "effect": "NoSchedule"}]
    assert configuration["discovery"]["bootstrapToken"]["apiServerEndpoint"] == "control-plane:6443"


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("census", "docker.io/library/census:latest"),
        ("census:dev", "docker.io/library/census:dev"),
        ("torpor/worker:1", "docker.io/torpor/worker:1"),
        ("localhost/worker:1", "localhost/worker:1"),
        ("registry.example:5000/worker", "registry.example:5000/worker:latest"),
    ],
)
def test_an_image_is_looked_up_by_its_full_name(image: str, full: str) -> None:
    assert load.full_name(image) == full


def test_a_node_has_an_image_by_its_full_name() -> None:
    assert load.content_of(LISTING, "census:dev") == "sha256:aa"
    assert load.content_of(LISTING, "other:dev") is None


def test_the_id_of_an_image_is_its_configurations_digest() -> None:
    assert load.id_of('{"config": {"digest": "sha256:1111"}, "layers": []}') == "sha256:1111"
    assert load.id_of('{"manifests": []}') is None


@pytest.mark.parametrize("machine", [host(root=False), host(debian=False)])
def test_without_an_engine_and_a_way_to_one_it_says_what_would_help(
    machine: HostFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "reachable", lambda: False)
    with pytest.raises(NothingWorksError, match=r"Docker.*root on Debian.*TORPOR_KUBECONFIG") as caught:
        engine.ensure(machine)
    assert caught.value.exit_code == 2


def test_clusters_of_different_names_share_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TORPOR_CLUSTER", raising=False)
    assert kind.name() == "torpor"
    files = {kind.kubeconfig()}
    monkeypatch.setenv("TORPOR_CLUSTER", "second")
    files.add(kind.kubeconfig())
    assert (kind.name(), extra_node.node_name(), len(files)) == ("second", "second-spare", 2)


@pytest.mark.parametrize("chosen", ["Torpor", "-x", "a b", "../x", "x" * 41])
def test_a_name_that_no_cluster_can_have_is_refused(chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORPOR_CLUSTER", chosen)
    with pytest.raises(DevError, match="TORPOR_CLUSTER"):
        kind.name()


@pytest.mark.parametrize("asked", ["0", "-1", "two", "1.5"])
def test_a_wrong_number_of_nodes_is_refused(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORPOR_NODES", asked)
    with pytest.raises(DevError, match="TORPOR_NODES"):
        cluster.node_count()


def test_an_image_archive_is_the_same_for_the_same_files(tmp_path: Path) -> None:
    program = tmp_path / "pause"
    program.write_bytes(b"program")
    image = image_archive.ArchivedImage(
        names=("pause:1",), files={"bin/pause": program}, links={}, entrypoint=("/bin/pause",)
    )
    image_archive.write(image, tmp_path / "one.tar")
    program.touch()
    image_archive.write(image, tmp_path / "two.tar")
    manifests = []
    for name in ("one.tar", "two.tar"):
        with tarfile.open(tmp_path / name) as tar:
            content = tar.extractfile("manifest.json")
            assert content is not None
            manifests.append(json.load(content))
    assert manifests[0] == manifests[1]
    assert manifests[0][0]["RepoTags"] == ["pause:1"]


def test_ldd_output_of_several_programs_gives_their_libraries() -> None:
    listing = """\
/usr/lib/xtables/libxt_mark.so:
	linux-vdso.so.1 (0x00007ffd)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f36)
	/lib64/ld-linux-x86-64.so.2 (0x00007f36)
/usr/lib/xtables/libxt_statistic.so:
	libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f12)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f12)
"""
    assert node_image.linked(listing) == {
        "lib/x86_64-linux-gnu/libc.so.6",
        "lib/x86_64-linux-gnu/libm.so.6",
        "lib64/ld-linux-x86-64.so.2",
    }
