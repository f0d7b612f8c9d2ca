"""Attributes samples of the operator's stacks to activities. Functions have the names of their modules. Pure."""

from benchmarks.profile.pprof import ProfileSample
from benchmarks.profile.rules import ActivityRule, activity

ACTIVITIES = (
    ActivityRule("CEL", ("torpor_expressions.",)),
    ActivityRule("plan", ("torpor_operator.workflows.plan.", "torpor_operator.state.", "torpor_operator.graph.")),
    ActivityRule("plan", ("torpor_operator.mapping.", "torpor_operator.expressions.")),
    ActivityRule("TaskRuns and pods: decided and built", ("torpor_operator.taskrun.", "torpor_operator.injection.")),
    ActivityRule("models of the objects (pydantic)", ("torpor_crds.models.", "pydantic.")),
    ActivityRule("JSON of watches", ("torpor_kubernetes.client.decoding.decode_event",)),
    ActivityRule(
        "watches: read and stored", ("torpor_kubernetes.cache.", "HttpTransport.stream", "HttpTransport.chunks")
    ),
    ActivityRule("JSON of requests", ("json.", "torpor_kubernetes.client.decoding.")),
    ActivityRule("TLS and sockets", ("asyncio.sslproto.", "ssl.")),
    ActivityRule("HTTP (aiohttp)", ("torpor_kubernetes.client.", "aiohttp.", "yarl.", "multidict.")),
    ActivityRule("kopf", ("kopf.",)),
    ActivityRule("controller: queue, caches, writes", ("torpor_operator.controller.", "torpor_operator.")),
    ActivityRule("event loop", ("asyncio.", "selectors.")),
)


def does(sample: ProfileSample) -> str:
    """The activity."""
    return activity(sample.stack, ACTIVITIES)
