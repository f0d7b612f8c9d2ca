"""A pool of triggerers over an API server in memory, in virtual time, with a fake web and triggers that misbehave."""

import asyncio
import hashlib
import io
import itertools
import json
import logging
import random
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from torpor.triggers.services import HttpResponse, Request
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_expressions.evaluator import InProcess
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.archive import ArchiveResponse
from torpor_kubernetes.client.resources import CONFIG_MAPS, EVENTS, SECRETS, TASKRUNS
from torpor_kubernetes.client.transport import Response
from torpor_triggerer.app import Triggerer
from torpor_triggerer.logs.trigger_log import TriggerLog
from torpor_triggerer.network.sessions import Owner
from torpor_triggerer.secrets.pool_keys import PoolKeys
from torpor_triggerer.services.trigger_services import Backends
from torpor_triggerer.settings import Settings
from torpor_triggerer.sharding.namespace_owners import NamespaceOwners
from torpor_triggerer.usercode.registry import BUILT_IN, Registry, TriggerClass, load
from torpor_wire import constants, times, trigger

from tests.support.cluster_accounts import ClusterAccounts
from tests.support.fake_api import FakeApi, VirtualClock, settle
from tests.support.triggers.bad_triggers import Log, Odd, OddClock

NAMESPACE = "workflows"


class FakeHttpClient:
    """Answers from a list, repeats the last one, and counts requests."""

    def __init__(self) -> None:
        self.answers: list[HttpResponse | OSError] = [OSError("connection refused")]
        self.request_count = 0

    async def request(self, request: Request, owner: Owner) -> HttpResponse:
        self.request_count += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, OSError):
            raise answer
        return answer


class UploadArchive:
    """An archive: bodies by path and digest; answers from a list first."""

    def __init__(self) -> None:
        self.bodies: dict[tuple[str, str], bytes] = {}
        self.types: list[str] = []
        self.answers: list[tuple[int, dict[str, Any]] | OSError] = []
        self.waits: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.log_answers: list[int | OSError] = []

    async def post_json(self, endpoint: ArchiveEndpoint, path: str, body: Any) -> ArchiveResponse:
        """Take the lines of waits."""
        assert endpoint == ArchiveEndpoint("https://archive", "PEM")
        self.requests.append(path)
        answer = self.log_answers.pop(0) if self.log_answers else 200
        if isinstance(answer, OSError):
            raise answer
        if answer == 200:
            self.waits += body["waits"]
        return ArchiveResponse(answer, b"{}")

    async def put(
        self, endpoint: ArchiveEndpoint, path: str, headers: Mapping[str, str], body: bytes
    ) -> ArchiveResponse:
        assert endpoint == ArchiveEndpoint("https://archive", "PEM")
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, OSError):
                raise answer
            return ArchiveResponse(answer[0], json.dumps(answer[1]).encode())
        digest = hashlib.sha256(body).hexdigest()
        self.bodies[path, digest] = body
        self.types.append(headers["Torpor-Type"])
        stored = {"size": len(body), "digest": digest, "type": headers["Torpor-Type"], "length": body.count(b"\n")}
        return ArchiveResponse(201, json.dumps(stored).encode())


def answer(status: int = 200, body: Any = "", **headers: str) -> HttpResponse:
    text = body if isinstance(body, str) else json.dumps(body)
    return HttpResponse(status, headers, text.encode(), False)


class TriggererFixture:
    """The API server, and the replicas started so far."""

    def __init__(self, *, latency: float = 0.0, seed: int = 0, sealing: bool = False, **settings: Any) -> None:
        self.clock = VirtualClock()
        self.fake = FakeApi(self.clock, latency=latency)
        self.trigger_kwargs: list[dict[str, Any]] = []
        """The kwargs of each odd trigger that was created."""
        self.readers: set[tuple[str, str]] = set()
        """Accounts and the Secrets that they may read."""
        self.home = ""
        """The namespace of the installation; replicas read which namespaces others serve only with one."""
        self.reviewing = True
        self.reviews: list[tuple[str, str]] = []
        self._sealing = sealing
        self._answer = self.fake.request
        self.fake.request = self._request  # type: ignore[method-assign]
        self.fake.serve(SECRETS)
        self.fake.serve(CONFIG_MAPS)
        for resource in (SECRETS, CONFIG_MAPS) if sealing else ():
            labels = {constants.LABEL_POOL: "default"}
            metadata = {"name": "torpor-seal-default", "namespace": "torpor-system", "labels": labels}
            self.fake.put(resource, {"metadata": metadata})
        self.accounts = ClusterAccounts(self.fake)
        self.web = FakeHttpClient()
        self.classes: dict[str, Any] = {}
        """Classes registered in addition to the odd ones, by name."""
        self.archive = UploadArchive()
        self.trigger_log = TriggerLog()
        self.log_output = io.StringIO()
        self._handler = self.trigger_log.handler(self.log_output)
        logging.getLogger().addHandler(self._handler)
        logging.getLogger().setLevel(logging.INFO)
        self.log: Log = []
        self._settings = settings
        self._seed = seed
        self._numbers = itertools.count(1)
        self._replicas: dict[str, tuple[asyncio.Task[None], asyncio.Event, Triggerer]] = {}

    @property
    def now(self) -> float:
        return self.clock.now()

    async def start(self, identity: str = "one") -> Triggerer:
        """Start a replica and let it run until it waits for time."""
        rng = random.Random(f"{self._seed}/{identity}")
        api = Api(self.fake, self.clock, jitter=rng.random)
        settings = Settings(identity=identity, **self._settings)
        used = {"archive": self.archive, "as_account": self.accounts.as_account}
        self.backends = Backends(api=api, evaluator=InProcess(), web=self.web, **used)  # type: ignore[arg-type]
        triggerer = Triggerer(
            self.backends,
            self.registry(),
            settings,
            trigger_log=self.trigger_log,
            pool_keys=PoolKeys(api, settings) if self._sealing else None,
            owners=NamespaceOwners(api, home=self.home, namespaces=()) if self.home else None,
        )
        stopping = asyncio.Event()
        self._replicas[identity] = (asyncio.create_task(triggerer.run(stopping)), stopping, triggerer)
        await self.settle()
        return triggerer

    async def stop(self, identity: str = "one") -> None:
        """Stop a replica as SIGTERM does."""
        task, stopping, _ = self._replicas.pop(identity)
        stopping.set()
        await self.pass_time(30)
        await task

    async def crash(self, identity: str = "one") -> None:
        """Stop a replica as SIGKILL does: nothing that it would still write arrives."""
        task, _, _ = self._replicas.pop(identity)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def close(self) -> None:
        self.log.append(("released", ""))
        for identity in list(self._replicas):
            await self.crash(identity)
        logging.getLogger().removeHandler(self._handler)
        logging.getLogger().setLevel(logging.WARNING)

    async def _request(self, method: str, path: str, **given: Any) -> Response:
        """Answer as the API server, with the authorizer's decision on who may read a Secret."""
        if "/serviceaccounts/" in path:
            return self.accounts.answer(path)
        if not path.endswith("/subjectaccessreviews"):
            return await self._answer(method, path, **given)
        if not self.reviewing:
            return Response(403, {"message": "no such right", "code": 403})
        account = (review := given["body"]["spec"])["user"].removeprefix(f"system:serviceaccount:{NAMESPACE}:")
        asked = "{resource}/{name}".format_map(review["resourceAttributes"])
        self.reviews.append((account, asked.removeprefix("secrets/")))
        return Response(201, given["body"] | {"status": {"allowed": self.reviews[-1] in self.readers}})

    def install_archive(self) -> None:
        data = {"url": "https://archive/", "ca.crt": "PEM"}
        self.fake.put(CONFIG_MAPS, {"metadata": {"name": "torpor-archive", "namespace": "torpor-system"}, "data": data})

    def secret(self, name: str, **data: str) -> None:
        encoded = {key: b64encode(text.encode()).decode() for key, text in data.items()}
        self.fake.put(SECRETS, {"metadata": {"name": name, "namespace": NAMESPACE}, "data": encoded})

    async def pass_time(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def settle(self) -> None:
        await settle()

    def registry(self) -> Registry:
        built_in = {name: load({}).find(name) for name in BUILT_IN}
        classes: dict[str, TriggerClass] = {
            name: class_ for name, class_ in built_in.items() if not hasattr(class_, "message")
        }
        return Registry(
            classes | {"odd": self._odd, "odd_clock": self._odd_clock} | self.classes,
            load({"broken": "no.such:Class"})._broken,
        )

    def _odd(self, **kwargs: Any) -> Odd:
        self.trigger_kwargs.append(kwargs)
        return Odd(self.log, **kwargs)

    def _odd_clock(self, **kwargs: Any) -> OddClock:
        return OddClock(self.log, **kwargs)

    def taskrun(self, name: str, class_name: str = "odd", kwargs: Any = None, **given: Any) -> None:
        """A deferred TaskRun. `timeout`: of the wait; `status`, `spec`, `trigger` overlay."""
        kwargs = {"does": "waits", "name": name} if kwargs is None else kwargs
        waiting = trigger.build(
            class_name,
            kwargs,
            namespace=given.get("namespace", NAMESPACE),
            pool="default",
            now=self.now,
            account=given.get("account", constants.TASK_ACCOUNT),
            taskrun=name,
        ).on_status()
        timeout = given.get("timeout")
        status = {
            "state": "Deferred",
            "attempt": 1,
            "segment": 0,
            "launch": 0,
            "startedAt": times.rfc3339(self.now),
            "deferredAt": times.rfc3339(self.now),
            "trigger": {**waiting, **given.get("trigger", {})},
            **({} if timeout is None else {"deadline": times.rfc3339(self.now + timeout)}),
            **given.get("status", {}),
        }
        spec = {"workflow": {"name": "w", "uid": "u"}, "task": "t", "triggerPool": "default"}
        body = {
            "metadata": {"name": name, "namespace": given.get("namespace", NAMESPACE)},
            "spec": {**spec, **given.get("spec", {"python": "m:f", "image": "i"})},
            "status": status,
        }
        self.fake.put(TASKRUNS, body)

    def status(self, name: str) -> dict[str, Any]:
        taskrun = self.fake.get(TASKRUNS, NAMESPACE, name)
        assert taskrun is not None
        status: dict[str, Any] = taskrun["status"]
        return status

    def state_and_reason(self, name: str) -> tuple[str, str | None]:
        status = self.status(name)
        return status["state"], status.get("reason")

    def edit(self, name: str, **status: Any) -> None:
        self.fake.edit(TASKRUNS, NAMESPACE, name, {"status": status})

    def patches(self, name: str) -> int:
        return sum(
            1 for request in self.fake.requests if request.method == "PATCH" and f"/{name}/status" in request.path
        )

    def events(self, name: str, kind: str = "Warning") -> list[tuple[str, str]]:
        return [
            (event["reason"], event["note"])
            for event in self.fake.all(EVENTS)
            if event["regarding"]["name"] == name and event["type"] == kind
        ]

    def called(self, name: str) -> list[str]:
        """The methods that were called on the trigger of a TaskRun, in order."""
        return [method for method, taskrun in self.log if taskrun == name]


@asynccontextmanager
async def triggerer_fixture(**settings: Any) -> AsyncIterator[TriggererFixture]:
    world = TriggererFixture(**settings)
    try:
        yield world
    finally:
        await world.close()


async def start_with_wait(
    world: TriggererFixture, name: str, class_name: str = "odd", kwargs: object = None, **given: object
) -> None:
    """Create a TaskRun that waits, and start the replica that serves it."""
    world.taskrun(name, class_name, kwargs, **given)
    await world.start()
