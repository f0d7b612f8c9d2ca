"""What a triggerer lends to a wait, over an API server in memory, a web without answers and virtual time."""

from torpor.triggers.services import Answer, Request, TaskRunRef
from torpor_api.api import Api
from torpor_cel.evaluator import InProcess
from torpor_triggerer.lent import Lent, Sources
from torpor_triggerer.registry import load

from tests.fake_api import FakeApi, VirtualClock

TASKRUN = TaskRunRef("run-t-abcde", "0b5d7c1a", 1, 0)


class NoWeb:
    async def request(self, asked: Request) -> Answer:
        raise OSError("no route to host")


def lent(taskrun: TaskRunRef = TASKRUN) -> Lent:
    """For a wait in the namespace `workflows`."""
    clock = VirtualClock()
    sources = Sources(api=Api(FakeApi(clock), clock), evaluator=InProcess(), web=NoWeb())
    return Lent(namespace="workflows", taskrun=taskrun, sources=sources, registry=load({}))
