"""`python -m benchmarks.argo.executor SOCKET SERVER PKI`: the requests of Argo's executor, for all pods in one process.

The `wait` container of a pod creates a WorkflowTaskResult, patches the outputs into it, and then patches its label
(`workflow/executor/postmain.go` and `taskresult.go` of 4.1.2). It acts as the service account of the pod.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from torpor_wire import constants

from benchmarks.argo import objects
from benchmarks.harness import worker
from benchmarks.harness.worker import PodWorker

_COMPLETED = "workflows.argoproj.io/report-outputs-completed"
_WORKFLOW = "workflows.argoproj.io/workflow"


class Executor(PodWorker):
    """Reports the outputs of pods."""

    async def serve(self, variables: Mapping[str, str]) -> None:
        """Report the outputs of the pod that has these variables of Argo."""
        path = f"{self.server}/apis/{objects.GROUP}/{objects.VERSION}/namespaces/{variables['namespace']}"
        results = f"{path}/workflowtaskresults"
        node = variables["ARGO_NODE_ID"]
        outputs = {"parameters": [{"name": objects.RESULT, "value": "1"}]}
        await self._send("POST", results, _created(variables, node))
        await self._send("PATCH", f"{results}/{node}", {"metadata": {}, "outputs": outputs})
        await self._send("PATCH", f"{results}/{node}", {"metadata": {"labels": {_COMPLETED: "true"}}})
        self.report(variables[constants.ENV_POD_UID])

    async def _send(self, method: str, url: str, body: Mapping[str, Any]) -> None:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {
            "Content-Type": kind,
            "User-Agent": "argo-executor",
            "Impersonate-User": f"system:serviceaccount:{objects.NAMESPACE}:default",
        }
        async with self.session.request(method, url, data=json.dumps(body), headers=headers) as response:
            text = await response.text()
            if response.status >= HTTPStatus.BAD_REQUEST:
                sys.stderr.write(f"{method} {url}: {response.status} {text}\n")


def _created(variables: Mapping[str, str], node: str) -> Mapping[str, Any]:
    workflow = {"name": variables["ARGO_WORKFLOW_NAME"], "uid": variables["ARGO_WORKFLOW_UID"]}
    version = f"{objects.GROUP}/{objects.VERSION}"
    metadata = {
        "name": node,
        "labels": {_WORKFLOW: workflow["name"], _COMPLETED: "false"},
        "ownerReferences": [{"apiVersion": version, "kind": "Workflow", **workflow}],
    }
    return {"apiVersion": version, "kind": "WorkflowTaskResult", "metadata": metadata}


if __name__ == "__main__":
    asyncio.run(worker.main(*sys.argv[1:], kind=Executor))
