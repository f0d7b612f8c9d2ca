"""Scripts, results and other containers in real pods: what a program prints, writes and ends with."""

import asyncio
import json
from typing import Any

from torpor_kubernetes.client.resources import PODS
from torpor_wire.state import State

from tests.e2e.support.stage import ClusterFixture, Spec

PYTHON_SCRIPT = """#!/usr/bin/env python3
import os, sys
hidden = "TORPOR_OUTCOME_NONCE" in os.environ
print(len(sys.argv) - 1, os.environ["day"], os.environ["PATH_IN"], "${params.bucket}", hidden)
"""
READS_NONCE = "cat /proc/$PPID/environ > /dev/null 2>&1; echo $?"
TRAPS = "trap 'echo stopped; exit 0' TERM; echo ready; while :; do sleep 0.1; done"
TASKS: tuple[Spec, ...] = (
    {"name": "list", "container": {"script": "echo '[\"a b\", 3]'; echo note >&2", "result": "stdout"}},
    {
        "name": "script",
        "container": {
            "script": PYTHON_SCRIPT,
            "args": ["${tasks.list.result}", "$$x"],
            "env": [{"name": "PATH_IN", "value": "/in/${params.bucket}"}],
            "result": "stdout",
        },
        "args": {"day": "$(HOME)"},
    },
    {"name": "file", "container": {"script": "printf '{\"a\": 1}' > /tmp/o", "result": {"path": "/tmp/o"}}},
    {"name": "code", "container": {"command": ["sh", "-c", "exit 5"], "result": "exitCode"}},
    {"name": "large", "container": {"script": "seq 3000", "result": "stdout"}},
    {"name": "nonce", "container": {"script": READS_NONCE, "result": "stdout"}},
    {"name": "forged", "container": {"script": 'echo \'{"torpor":1,"nonce":"","skip":{}}\'', "result": "stdout"}},
)


async def results(stage: ClusterFixture, name: str) -> dict[str, Any]:
    runs = await stage.taskruns(name)
    return {run.spec.task: json.loads(run.status.result or "null") for run in runs}


async def test_results_are_what_programs_print_write_and_end_with(stage: ClusterFixture) -> None:
    params = {"bucket": "in", "tag": "dev"}
    await stage.start("programs", {"image": "torpor-e2e:${params.tag}", "params": params, "tasks": TASKS})
    flow = await stage.ended("programs")
    assert flow.status.state == "Succeeded", [run.status.message for run in await stage.taskruns("programs")]
    found = await results(stage, "programs")
    large = next(run for run in await stage.taskruns("programs") if run.spec.task == "large")
    assert large.status.stored is not None
    assert large.status.stored.type == "string"
    assert found | {"large": None} == {
        "list": ["a b", 3],
        "script": "3 $(HOME) /in/in in False",
        "file": {"a": 1},
        "code": 5,
        "large": None,
        "nonce": 1,  # the environment of the wrapper cannot be read
        "forged": {"torpor": 1, "nonce": "", "skip": {}},
    }


async def test_failures_of_programs_keep_their_exit_codes(stage: ClusterFixture) -> None:
    programs: dict[str, dict[str, Any]] = {
        "code": {"script": "echo lost; exit 7", "result": "stdout"},
        "killed": {"script": "kill -SEGV $$", "result": "stdout"},
        "absent": {"command": ["/no/such/program"], "result": "stdout"},
        "nothing": {"command": ["true"], "result": {"path": "/tmp/none"}},
        "forged": {"script": "echo 3 > /dev/termination-log; kill -KILL $PPID", "result": "stdout"},
    }
    tasks = [{"name": name, "container": program} for name, program in programs.items()]
    await stage.start("failing", {"image": "torpor-e2e:dev", "tasks": tasks})
    await stage.ended("failing")
    messages = {run.spec.task: f"{run.status.reason}: {run.status.message}" for run in await stage.taskruns("failing")}
    assert "exit code 7" in messages["code"]
    assert "exit code 139" in messages["killed"]
    assert "exit code 127" in messages["absent"]
    assert "cannot start /no/such/program" in messages["absent"]
    assert messages["nothing"].startswith("ResultInvalid: the program wrote no result")
    assert await results(stage, "failing") == dict.fromkeys(programs)  # also of `forged`: the wrapper writes last


async def test_a_program_gets_the_signal_of_its_pod(stage: ClusterFixture) -> None:
    """With `result: exitCode` of a program that is told to end, the exit code shows that it got the signal."""
    task = {"name": "wait", "container": {"script": TRAPS, "result": "stdout"}}
    await stage.start("stopping", {"image": "torpor-e2e:dev", "tasks": [task]})
    run = await stage.reached("stopping", "wait", State.RUNNING)
    assert run.status.pod is not None
    name = run.status.pod.name

    async def runs() -> bool | None:
        body = await stage.api.get(PODS, stage.namespace, name)
        statuses = body.get("status", {}).get("containerStatuses") or []
        return any((each.get("state") or {}).get("running") for each in statuses) or None

    await stage.until(runs, 120, "the program to run")
    await asyncio.sleep(2)  # until the shell has set its trap
    await stage.api.delete(PODS, stage.namespace, name, uid=run.status.pod.uid or "")
    flow = await stage.ended("stopping", 60)
    assert flow.status.state == "Succeeded"
    assert await results(stage, "stopping") == {"wait": "ready\nstopped"}


SERVER = "import http.server as h; h.HTTPServer(('127.0.0.1', 8123), h.SimpleHTTPRequestHandler).serve_forever()"
CLIENT = (
    "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8123/work/x').read().decode(), "
    "end='', file=open('/dev/termination-log', 'w'))"
)
_MOUNT = [{"name": "work", "mountPath": "/work"}]


def containers(init: str, **sidecar: object) -> Spec:
    server = {
        "name": "server",
        "image": "torpor-e2e:dev",
        "command": ["sh", "-c", 'cd / && exec python3 -c "$SERVER"'],
        "env": [{"name": "SERVER", "value": SERVER}],
        "volumeMounts": _MOUNT,
        "startupProbe": {"exec": {"command": ["test", "-s", "/work/x"]}, "periodSeconds": 1},
        **sidecar,
    }
    fetch = {"name": "fetch", "image": "torpor-e2e:dev", "command": ["sh", "-c", init], "volumeMounts": _MOUNT}
    return {
        "initContainers": [fetch],
        "sidecars": [server],
        "volumes": [{"name": "work", "emptyDir": {}}],
        "volumeMounts": _MOUNT,
    }


async def test_a_sidecar_serves_the_task_and_ends_with_it(stage: ClusterFixture) -> None:
    retry = "for i in range(100):\n  try:\n    " + CLIENT.replace("; ", "\n    ") + "\n    break\n"
    retry += "  except OSError:\n    __import__('time').sleep(0.1)\n"
    pod = containers("printf fetched > /work/x")
    task = {"name": "ask", "container": {"command": ["python3", "-c", retry]}, "pod": pod}
    await stage.start("sidecar", {"image": "torpor-e2e:dev", "tasks": [task]})
    flow = await stage.ended("sidecar")
    assert flow.status.state == "Succeeded", [run.status.message for run in await stage.taskruns("sidecar")]
    assert await results(stage, "sidecar") == {"ask": "fetched"}


async def test_a_failed_init_container_and_a_crashing_sidecar_are_named(stage: ClusterFixture) -> None:
    tasks = [
        {"name": "init", "container": {"command": ["true"]}, "pod": containers("echo no bucket; exit 3")},
        {
            "name": "crash",
            "python": "e2e_tasks:total",
            "args": {"rows": [1]},
            "pod": containers("printf x > /work/x", command=["sh", "-c", "echo no password; exit 1"]),
        },
    ]
    await stage.start("broken", {"image": "torpor-e2e:dev", "tasks": tasks})
    await stage.ended("broken")
    crash, init = await stage.taskruns("broken")
    assert (init.status.reason, init.status.message) == (
        "Error",
        "container fetch failed: Error, exit code 3: no bucket",
    )
    assert crash.status.reason == "LaunchFailed"
    assert "container server cannot start: CrashLoopBackOff" in (crash.status.message or "")
    assert "no password" in (crash.status.message or "")


READ_ROWS = "print(*open('/work/rows').read().split()"
STEPS = [
    {"name": "make", "script": "printf 'a\\nb\\n' > /work/rows; echo made"},
    {"name": "count", "script": "wc -l < /work/rows", "result": "stdout"},
    {
        "name": "report",
        "image": "torpor-e2e-plain:dev",
        "command": ["python3", "-c", f"{READ_ROWS}, file=open('/dev/termination-log', 'w'))"],
    },
]


async def test_steps_run_in_order_in_one_pod_and_each_has_a_result(stage: ClusterFixture) -> None:
    volumes = {"volumes": [{"name": "work", "emptyDir": {}}], "volumeMounts": _MOUNT}
    pod = {**volumes, "securityContext": {"runAsUser": 65532, "fsGroup": 65532}}
    failing = [STEPS[0], {"name": "check", "script": "echo bad row; exit 4"}, STEPS[2]]
    tasks = [
        {"name": "steps", "container": {"steps": STEPS}, "pod": pod},
        {"name": "failing", "container": {"steps": failing}, "pod": pod},
    ]
    await stage.start("steps", {"image": "torpor-e2e:dev", "tasks": tasks})
    await stage.ended("steps")
    failed, ended = await stage.taskruns("steps")
    assert failed.status.message == "container check failed: Error, exit code 4: bad row"
    assert ended.status.state == "Succeeded", ended.status.message
    assert (await results(stage, "steps"))["steps"] == {"make": None, "count": 2, "report": "a b"}
