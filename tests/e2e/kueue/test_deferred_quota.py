"""Queues of the real Kueue on a cluster with real pods: `make kueue-cluster` builds Kueue and runs these tests.

tests/integration/controller/test_kueue.py has the other rules of queues.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from torpor_demo import manifest
from torpor_demo.images import Image
from torpor_dev.console import CommandError

from tests.e2e.support.installation import TEAM, WORK, ClusterInstallation, empty
from tests.integration.controller import kueue
from tests.integration.controller.stage import shell_with_outcome

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(kueue.PROGRAM not in os.environ, reason="without Kueue: make kueue-cluster"),
]
_IMAGE = "us-central1-docker.pkg.dev/k8s-staging-images/kueue/kueue"
_DOCKERFILE = """\
FROM scratch
COPY kueue /manager
USER 65532:65532
"""
_SYSTEM, _MANAGER = "kueue-system", "deployment/kueue-controller-manager"
_POD = {"resources": {"requests": {"cpu": "100m"}}}
_CPU = {"pod": _POD, "queue": TEAM}
_URGENT = {"pod": {**_POD, "labels": {"kueue.x-k8s.io/priority-class": "high"}}, "queue": TEAM}
_DEFER = """
if [ "$TORPOR_SEGMENT" = 0 ]; then
  body='"defer": {"trigger": {"class": "approval", "kwargs": {"question": "Go on?"}}}'
else
  body='"result": "resumed"'
fi
echo '{"torpor": 1, "nonce": "'"$TORPOR_OUTCOME_NONCE"'", '"$body"'}' > "$TORPOR_OUTCOME"
"""
_HOLD = """
read -r pod < /etc/hostname
case "$TORPOR_SEGMENT-$pod" in
0-*) body='"defer": {"trigger": {"class": "approval", "kwargs": {"question": "Go on?"}}}' ;;
*-l[0-9]) body='"result": "resumed"' ;;
*) trap 'exit 1' TERM; sleep 3600 & wait ;;
esac
echo '{"torpor": 1, "nonce": "'"$TORPOR_OUTCOME_NONCE"'", '"$body"'}' > "$TORPOR_OUTCOME"
"""
"""It defers once. Then its first pod runs until it is stopped. The next pod has a name that ends with its launch."""
_LIMIT = 300
"""Seconds for a step: the machine may be busy."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterInstallation]:
    """Torpor and Kueue on a cluster, with a queue whose quota is one pod of these tests."""
    folder = tmp_path_factory.mktemp("kueue")
    with empty(folder) as made:
        made.install("1.0")
        _install_kueue(made, folder)
        yield made


def _install_kueue(site: ClusterInstallation, folder: Path) -> None:
    """Install Kueue's own manifest, with an image of the program that was built."""
    context = folder / "image"
    context.mkdir()
    shutil.copy(os.environ[kueue.PROGRAM], context / "kueue")
    (context / "Dockerfile").write_text(_DOCKERFILE)
    name, _, digest = site.push(Image(name="kueue:dev", context=context), "1.0").partition("@")
    image = {"name": _IMAGE, "newName": name.rpartition(":")[0], "digest": digest}
    default = Path(os.environ[kueue.SOURCES]) / "config/default"
    text = manifest.render({"resources": [default], "images": [image]})
    site.kubectl.run("apply", "--server-side", "-f", "-", stdin=text, limit=_LIMIT)
    site.kubectl.run("rollout", "status", "-n", _SYSTEM, _MANAGER, f"--timeout={_LIMIT}s", limit=_LIMIT + 30)
    for body in kueue.queue_objects(TEAM, TEAM, cpu="100m"):
        _apply(site, json.dumps(body))


def _apply(site: ClusterInstallation, text: str) -> None:
    """Apply an object of Kueue. Its webhooks answer a moment after its pod is ready."""
    end = time.monotonic() + _LIMIT
    while True:
        try:
            site.kubectl.run("apply", "--server-side", "-f", "-", stdin=text)
        except CommandError:
            if time.monotonic() >= end:
                raise
            time.sleep(2)
        else:
            return


def _await_quota(site: ClusterInstallation) -> None:
    """Wait until the queue has its quota back."""
    end = time.monotonic() + _LIMIT
    while kueue.admitted_cpu(site.kubectl.read("localqueue", TEAM, "-n", TEAM)) != "0":
        assert time.monotonic() < end, site.kubectl.run("get", "-n", TEAM, "workloads,pods,taskruns", "-o", "wide")
        time.sleep(1)


def test_quota_of_a_deferred_task_serves_another_run(site: ClusterInstallation) -> None:
    site.start("waits", shell_with_outcome("wait", _DEFER, **_CPU), version="1.0")
    asked = site.reached("waits", "wait", "Deferred")
    _await_quota(site)

    site.start("other", {**WORK, **_CPU}, version="1.0")
    site.succeeded("other")
    assert site.reached("waits", "wait", "Deferred") == asked

    site.approve(asked)
    site.succeeded("waits")
    workloads = site.kubectl.read("workloads", "-n", TEAM)["items"]
    assert len(workloads) == 3, yaml.safe_dump(workloads)  # a pod of the other run, and one of each segment
    _await_quota(site)


def test_a_resumed_task_that_is_preempted_goes_on_in_its_attempt(site: ClusterInstallation) -> None:
    _await_quota(site)
    site.start("low", shell_with_outcome("hold", _HOLD, **_CPU), version="1.0")
    asked = site.reached("low", "hold", "Deferred")
    site.approve(asked)
    assert site.reached("low", "hold", "Running") == asked

    site.start("high", {**WORK, **_URGENT}, version="1.0")
    site.succeeded("high")
    site.succeeded("low")
    status = site.kubectl.read("taskrun", asked, "-n", TEAM)["status"]
    assert (status["attempt"], status["segment"], status["result"]) == (1, 1, '"resumed"')
    assert status["launch"] >= 1
    _await_quota(site)
