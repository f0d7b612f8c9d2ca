"""examples/spark on the cluster: a task submits a Spark application, and waits for it without a pod."""

import asyncio
import json
from typing import Any

import pytest
import yaml
from torpor_demo.cluster import ROOT
from torpor_demo.kubectl import Kubectl
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.e2e.cli.conftest import Terminal
from tests.e2e.support.concurrent_runs import container, spec
from tests.e2e.support.stage import ClusterFixture, condition

pytestmark = pytest.mark.long

_FOLDER = ROOT / "examples/spark"
_NAMESPACE = "torpor-demo"
_CRD = "crd/sparkapplications.sparkoperator.k8s.io"
_DEPLOYMENT = "deployment/spark-stand-in"


@pytest.fixture
def spark(kubectl: Kubectl, stage: ClusterFixture) -> ClusterFixture:
    """The namespace of the test with the stand-in and the account, by the commands of the README.

    The CRD stays: it belongs to the cluster, and another test may use it.
    """
    for folder in ("stand-in", "jobs"):
        objects = kubectl.run("kustomize", _FOLDER / folder).replace(_NAMESPACE, stage.namespace)
        kubectl.run("apply", "--server-side", "-f", "-", stdin=objects)
    kubectl.run("wait", "--for=condition=Established", _CRD, "--timeout=120s", limit=150)
    kubectl.run("rollout", "status", "-n", stage.namespace, _DEPLOYMENT, "--timeout=240s", limit=270)
    return stage


def _workflow(samples: int) -> dict[str, Any]:
    spec: dict[str, Any] = yaml.safe_load((_FOLDER / "workflow.yaml").read_text())["spec"]
    return {**spec, "params": {"samples": samples}}


async def test_an_application_is_submitted_and_waited_for_without_a_pod(
    spark: ClusterFixture, kubectl: Kubectl
) -> None:
    await spark.start("good", _workflow(1000))
    await spark.start("bad", _workflow(0))

    good, bad = await spark.ended("good"), await spark.ended("bad")
    assert good.status.state == "Succeeded", good.status.conditions
    (succeeded,) = await spark.taskruns("good", "pi")
    result = json.loads(succeeded.status.result or "")
    assert json.loads(good.status.result or "") == result["driver"]
    terminal = Terminal(kubeconfig=kubectl.kubeconfig, namespace=spark.namespace)
    log = await asyncio.to_thread(terminal.ok, "logs", "good/pi")
    assert f"pi a1 {result['driver']} | Pi is roughly 3." in log
    assert bad.status.state == "Failed"
    (failed,) = await spark.taskruns("bad", "pi")
    assert failed.status.state is State.FAILED
    assert condition(failed)[1] == Reason.FAIL_WHEN
    assert "driver exited with code 1" in (failed.status.message or "")
    own_pods = kubectl.read("pods", "-n", spark.namespace, "-l", "torpor.dev/taskrun-uid")["items"]
    assert own_pods == []


_LIST = """
import json, ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
token, namespace = open(folder + "token").read(), open(folder + "namespace").read()
url = "https://kubernetes.default.svc/apis/sparkoperator.k8s.io/v1beta2/namespaces/" + namespace + "/sparkapplications"
tls = ssl.create_default_context(cafile=folder + "ca.crt")
answer = urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": "Bearer " + token}), context=tls)
print(len(json.load(answer)["items"]), file=open("/dev/termination-log", "w"))
"""


async def test_a_container_acts_with_the_token_of_its_account(spark: ClusterFixture) -> None:
    pod = {"serviceAccountName": "spark-jobs", "serviceAccountToken": True}
    await spark.start("token", spec(container("count", 'exec python3 -c "$PROGRAM"', pod=_with_program(pod))))
    assert (await spark.ended("token")).status.state == "Succeeded", await spark.taskruns("token")
    (run,) = await spark.taskruns("token")
    assert run.status.result == "0"


def _with_program(pod: dict[str, Any]) -> dict[str, Any]:
    return {**pod, "env": [{"name": "PROGRAM", "value": _LIST}]}
