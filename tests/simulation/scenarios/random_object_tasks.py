"""Random workflows whose tasks create Jobs and wait for them, with a pause beside them.

They are in seeds from FIRST_SEED on: the simulations of other seeds stay as they are.
"""

import random

from torpor_kubernetes.client.resources import ACCOUNTS
from torpor_local.apiserver.history import Object
from torpor_wire import constants

from tests.support.cluster_accounts import JOBS
from tests.support.fake_api import FakeApi

FIRST_SEED = 90_000
NAMESPACE = "flows"
ACCOUNT = "builder"
_POLICIES = ("Always", "OnSuccess", "OnFailure", "OnCancel", "Never")


def put_account(fake: FakeApi) -> None:
    """Serve Jobs, and create the account that tasks act as."""
    fake.serve(JOBS)
    fake.serve(ACCOUNTS)
    annotations = {constants.ACCOUNT_TOKENS: constants.TOKENS_ALLOWED}
    fake.put(ACCOUNTS, {"metadata": {"name": ACCOUNT, "namespace": NAMESPACE, "annotations": annotations}})


def workflow(rng: random.Random, name: str) -> Object:
    """One Workflow of one to three tasks, most of which create a Job."""
    tasks = [_task(rng, f"t{number}") for number in range(rng.choice((1, 2, 3)))]
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"image": "image:1", "tasks": tasks, "parallelism": rng.choice((1, 3, 10))},
    }


def _task(rng: random.Random, name: str) -> Object:
    if rng.random() < 0.2:
        return {"name": name, "trigger": {"class": "duration", "kwargs": {"duration": "3s"}}}
    task: Object = {
        "name": name,
        "object": {
            "serviceAccountName": ACCOUNT,
            "manifest": {"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": {"task": name}},
            "until": "object.status.succeeded > 0",
            "failWhen": "object.status.failed > 0",
            "result": "object.status.succeeded",
            "deleteOnEnd": rng.choice(_POLICIES),
        },
    }
    if rng.random() < 0.5:
        task["retries"] = {"limit": 1, "delay": "2s"}
    if rng.random() < 0.3:
        task["expand"] = [{"name": "number", "over": [1, 2]}]
    return task
