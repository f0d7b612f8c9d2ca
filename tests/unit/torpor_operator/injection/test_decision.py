"""Whether pods get the runtime by an image volume: all parts of the cluster must support it."""

from dataclasses import replace

import pytest
from torpor_operator.injection.decision import Evidence, Node, decide
from torpor_operator.settings import Injection

NODE = Node(name="one", runtime="containerd://2.1.4", kubelet="v1.35.2")
ALL = Evidence(accepted=True, server="v1.35.2", nodes=(NODE,))


def test_image_volumes_need_the_api_server_and_all_nodes() -> None:
    decision = decide(Injection.AUTO, ALL)

    assert decision.image_volumes
    assert decision.reason == "the API server and all nodes (1) support image volumes"


@pytest.mark.parametrize(("injection", "volumes"), [(Injection.IMAGE_VOLUME, True), (Injection.INIT_CONTAINER, False)])
def test_a_setting_overrides_what_the_cluster_reports(injection: Injection, *, volumes: bool) -> None:
    for evidence in (ALL, Evidence(accepted=False), Evidence()):
        assert decide(injection, evidence).image_volumes is volumes


def test_nothing_is_assumed_of_an_api_server_that_was_not_asked() -> None:
    decision = decide(Injection.AUTO, Evidence(refusal="namespace team: denied"))

    assert not decision.image_volumes
    assert decision.reason == "image volumes could not be tested: namespace team: denied"


def test_an_api_server_that_drops_the_volume_has_no_image_volumes() -> None:
    assert not decide(Injection.AUTO, replace(ALL, accepted=False)).image_volumes


@pytest.mark.parametrize(
    ("runtime", "supported"),
    [
        ("containerd://2.1.0-rc.1", True),
        ("containerd://2.2.3", True),
        ("containerd://3.0.0", True),
        ("containerd://2.0.7", False),
        ("containerd://1.7.28", False),
        ("containerd://2.2.3-k3s1", False),
        ("cri-o://1.31.0", True),
        ("cri-o://1.30.9", False),
        ("docker://29.6.2", False),
        ("containerd://unknown", False),
        ("", False),
    ],
)
def test_the_container_runtime_of_every_node_counts(runtime: str, *, supported: bool) -> None:
    other = replace(NODE, name="two", runtime=runtime)

    decision = decide(Injection.AUTO, replace(ALL, nodes=(NODE, other)))

    assert decision.image_volumes is supported
    if not supported:
        assert decision.reason.startswith(f"node two has {runtime or 'an unknown container runtime'}; ")
        assert decision.reason.endswith("need one of containerd 2.1, cri-o 1.31, or later")


@pytest.mark.parametrize(
    ("server", "kubelet", "supported"),
    [
        ("v1.36.0", "v1.35.1", True),
        ("v1.36.0", "v1.34.4", False),
        ("v1.35.0", "v1.33.1", False),
        ("v1.34.1", "v1.34.0", True),
        ("v1.34.1", "v1.33.0", False),
        ("v1.35.1-gke.100", "v1.35.0-gke.7", True),
        ("", "v1.35.0", True),
        ("", "v1.34.0", False),
        ("v1.35.0", "", False),
    ],
)
def test_a_kubelet_that_may_lack_the_feature_has_no_image_volumes(
    server: str, kubelet: str, *, supported: bool
) -> None:
    evidence = replace(ALL, server=server, nodes=(replace(NODE, kubelet=kubelet),))

    assert decide(Injection.AUTO, evidence).image_volumes is supported


def test_nodes_of_windows_run_no_tasks_and_do_not_count() -> None:
    windows = Node(name="win", runtime="containerd://1.7.0", kubelet="v1.30.0", system="windows")

    assert decide(Injection.AUTO, replace(ALL, nodes=(NODE, windows))).image_volumes
    assert not decide(Injection.AUTO, replace(ALL, nodes=(windows,))).image_volumes
