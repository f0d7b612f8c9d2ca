"""What a triggerer lends, over an API server in memory, a web without answers and virtual time, or what is given."""

from torpor.triggers.services import HttpResponse, Request, TaskRunRef
from torpor_expressions.evaluator import InProcess
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.timing import Clock
from torpor_triggerer.model.deferred_taskrun import SegmentId
from torpor_triggerer.network.sessions import Owner
from torpor_triggerer.services.trigger_services import Backends, HttpSender, TriggerServices
from torpor_triggerer.usercode.registry import load

from tests.support import trigger_services
from tests.support.fake_api import FakeApi, VirtualClock

TASKRUN = TaskRunRef("run-t-abcde", "0b5d7c1a", 1, 0)


class UnreachableHttpClient:
    """Reaches no server."""

    async def request(self, request: Request, owner: Owner) -> HttpResponse:
        raise OSError("no route to host")


def services(
    taskrun: TaskRunRef = TASKRUN, *, web: HttpSender | None = None, clock: Clock | None = None
) -> TriggerServices:
    """For a wait in the namespace `workflows`."""
    clock = clock or VirtualClock()
    api = Api(FakeApi(clock), clock)
    backends = Backends(
        api=api, evaluator=InProcess(), web=web or UnreachableHttpClient(), network=trigger_services.network()
    )
    return TriggerServices(
        namespace="workflows",
        name=taskrun.name,
        segment_id=SegmentId(*taskrun[1:]),
        backends=backends,
        registry=load({}),
    )
