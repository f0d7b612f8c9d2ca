"""Attributes samples of the operator's stacks to activities. Functions have the names of their modules. Pure."""

from benchmarks.profile.pprof import ProfileSample
from benchmarks.profile.rules import Rule, activity

ACTIVITIES = (
    Rule("CEL", ("torpor_expressions.",)),
    Rule("plan", ("torpor_operator.workflows.plan.", "torpor_operator.state.", "torpor_operator.graph.")),
    Rule("plan", ("torpor_operator.mapping.", "torpor_operator.expressions.")),
    Rule("TaskRuns and pods: decided and built", ("torpor_operator.taskrun.", "torpor_operator.injection.")),
    Rule("models of the objects (pydantic)", ("torpor_crds.models.", "pydantic.")),
    Rule("JSON of watches", ("torpor_kubernetes.client.decoding.decode_event",)),
    Rule("watches: read and stored", ("torpor_kubernetes.cache.", "HttpTransport.stream", "HttpTransport.chunks")),
    Rule("JSON of requests", ("json.", "torpor_kubernetes.client.decoding.")),
    Rule("TLS and sockets", ("asyncio.sslproto.", "ssl.")),
    Rule("HTTP (aiohttp)", ("torpor_kubernetes.client.", "aiohttp.", "yarl.", "multidict.")),
    Rule("kopf", ("kopf.",)),
    Rule("controller: queue, caches, writes", ("torpor_operator.controller.", "torpor_operator.")),
    Rule("event loop", ("asyncio.", "selectors.")),
)


def does(sample: ProfileSample) -> str:
    """The activity."""
    return activity(sample.stack, ACTIVITIES)
