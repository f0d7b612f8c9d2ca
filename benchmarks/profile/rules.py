"""Names the activity of a stack of functions: the first rule that one of its functions matches.

The order of the rules decides, not the depth of the functions, since handlers call each other: the function of a filter
is in the stack of all that the filter passes on. What encloses much therefore comes last.
"""

from collections.abc import Sequence
from typing import NamedTuple

OTHER = "not attributed"


class ActivityRule(NamedTuple):
    """An activity, and parts of the names of its functions."""

    activity: str
    parts: tuple[str, ...]


def activity(stack: Sequence[str], rules: Sequence[ActivityRule]) -> str:
    """The activity of a stack; `OTHER` if no rule matches."""
    for rule in rules:
        if any(part in name for name in stack for part in rule.parts):
            return rule.activity
    return OTHER


OPERATOR_RULES = (
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
"""Of the operator's stacks: functions have the names of their modules."""

ETCD_RULES = (
    ActivityRule(
        "garbage collection", ("runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep", "runtime.gcDrain")
    ),
    ActivityRule("log of writes (WAL)", ("storage/wal",)),
    ActivityRule("commit to the database file (bbolt)", ("bbolt", "backend.(*batchTx", "backend.(*backend).run")),
    ActivityRule(
        "transactions: apply",
        ("/apply.", "(*EtcdServer).applyAll", "server/etcdserver/txn", "mvcc.(*storeTxn", "mvcc.(*treeIndex)"),
    ),
    ActivityRule("transactions: receive, propose, answer", ("_KV_Txn_Handler", "(*EtcdServer).Txn")),
    ActivityRule("reads", ("_KV_Range_Handler", "(*EtcdServer).Range")),
    ActivityRule(
        "watches: find and send events", ("v3rpc.(*watchServer)", "v3rpc.(*serverWatchStream)", "mvcc.(*watch")
    ),
    ActivityRule("raft", ("go.etcd.io/raft", "etcdserver.(*raftNode)", "rafthttp")),
    ActivityRule("leases", ("lease.", "leaseHandler")),
    ActivityRule("connections: gRPC", ("google.golang.org/grpc", "golang.org/x/net/http2")),
    ActivityRule("HTTP", ("net/http",)),
    ActivityRule("Go runtime: scheduler, timers, network poll", ("runtime.",)),
)
"""Of etcd's CPU profile."""
