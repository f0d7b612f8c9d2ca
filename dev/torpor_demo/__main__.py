"""`python -m torpor_demo`: installs Torpor, runs examples/census.yaml, and exits 0 if the run succeeded."""

import argparse
import asyncio
import json
import secrets
import sys
from typing import Any

import yaml
from torpor_dev.console import DevError
from torpor_kubernetes.client.errors import ApiError
from torpor_wire.state import State

from torpor_demo import cluster, images, recording, report
from torpor_demo.cluster import ROOT
from torpor_demo.images import Release
from torpor_demo.install import NAMESPACE, install, install_released
from torpor_demo.kubectl import Kubectl
from torpor_demo.recording import RunFollower, RunRecording
from torpor_demo.release import add_arguments

_EXAMPLE = ROOT / "examples/census.yaml"
_LIMIT = 660.0


def main() -> int:
    """Run the demo; return the exit code."""
    parser = argparse.ArgumentParser(prog="torpor_demo", description=__doc__)
    add_arguments(parser)
    options = parser.parse_args()
    try:
        return _demo(*_installed(images.release(options.registry, options.version)))
    except (DevError, ApiError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _installed(release: Release | None) -> tuple[Kubectl, str]:
    """Install Torpor with local images or those of a release; return kubectl and the image of the example."""
    if release is None:
        return install(), images.CENSUS.name
    pushed = images.publish(images.ALL, cluster.base_image(), release)
    installed = install_released(pushed[images.TORPOR.name], pushed[images.RUNTIME.name])
    return installed, pushed[images.CENSUS.name]


def _demo(kubectl: Kubectl, image: str) -> int:
    body = _workflow(image)
    name = body["metadata"]["name"]
    print(f"\n{_EXAMPLE.relative_to(ROOT)} runs as Workflow {name}; `torpor get -w {name}` follows it:\n", flush=True)
    with RunFollower(kubectl.kubeconfig, NAMESPACE, name) as follower:
        film = asyncio.run(recording.follow(kubectl.kubeconfig, body, created=follower.start, limit=_LIMIT))
    if film.workflow is None or film.workflow.status.state != "Succeeded":
        print(f"\n{report.explain(kubectl, film)}", file=sys.stderr)
        return 1
    print(f"\nThe report:\n\n{_indented(_table(film))}\n\nWhat the waiting cost:\n\n{_indented(_proof(film))}")
    print(f"\nWhat to try next:\n\n{_indented(_next(name, image))}")
    return 0


def _workflow(image: str) -> dict[str, Any]:
    """The example with a fixed name, because a name that the API server generates cannot be watched beforehand."""
    body: dict[str, Any] = yaml.safe_load(_EXAMPLE.read_text())
    prefix = body["metadata"].pop("generateName")
    body["metadata"] |= {"name": f"{prefix}{secrets.token_hex(3)}", "namespace": NAMESPACE}
    body["spec"]["image"] = image
    return body


def _table(film: RunRecording) -> str:
    ended = [observed.run.status for observed in film.runs if observed.run.spec.task == "report"]
    result = next((status.result for status in ended if status.state is State.SUCCEEDED), None)
    table: str = json.loads(result or "{}").get("table", "")
    return table


def _proof(film: RunRecording) -> str:
    return "\n".join(report.lines(film))


def _next(name: str, image: str) -> str:
    return "\n".join(
        [
            "export KUBECONFIG=$(make -s kubeconfig)",
            "export PATH=$PWD/.venv/bin:$PATH",
            f"torpor ui -n {NAMESPACE}    # the page on 127.0.0.1, in a browser",
            f"torpor get -n {NAMESPACE} {name}/measure",
            f"torpor timeline -n {NAMESPACE} {name}",
            f"torpor logs -n {NAMESPACE} {name}",
            f"torpor list -n {NAMESPACE}",
            f"kubectl get workflows,taskruns -n {NAMESPACE}",
            "kubectl explain workflow.spec.tasks",
            f"{_again(image)}    # once more",
            "make test",
            "make uninstall",
            "make cluster-down",
        ]
    )


def _again(image: str) -> str:
    example = _EXAMPLE.relative_to(ROOT)
    if image == images.CENSUS.name:
        return f"kubectl create -n {NAMESPACE} -f {example}"
    return f"sed 's|{images.CENSUS.name}|{image}|' {example} | kubectl create -n {NAMESPACE} -f -"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


if __name__ == "__main__":
    sys.exit(main())
