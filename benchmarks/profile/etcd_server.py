"""Attributes samples of etcd's CPU profile to activities. Pure."""

from benchmarks.profile.pprof import ProfileSample
from benchmarks.profile.rules import Rule, activity

ACTIVITIES = (
    Rule(
        "garbage collection", ("runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep", "runtime.gcDrain")
    ),
    Rule("log of writes (WAL)", ("storage/wal",)),
    Rule("commit to the database file (bbolt)", ("bbolt", "backend.(*batchTx", "backend.(*backend).run")),
    Rule(
        "transactions: apply",
        ("/apply.", "(*EtcdServer).applyAll", "server/etcdserver/txn", "mvcc.(*storeTxn", "mvcc.(*treeIndex)"),
    ),
    Rule("transactions: receive, propose, answer", ("_KV_Txn_Handler", "(*EtcdServer).Txn")),
    Rule("reads", ("_KV_Range_Handler", "(*EtcdServer).Range")),
    Rule("watches: find and send events", ("v3rpc.(*watchServer)", "v3rpc.(*serverWatchStream)", "mvcc.(*watch")),
    Rule("raft", ("go.etcd.io/raft", "etcdserver.(*raftNode)", "rafthttp")),
    Rule("leases", ("lease.", "leaseHandler")),
    Rule("connections: gRPC", ("google.golang.org/grpc", "golang.org/x/net/http2")),
    Rule("HTTP", ("net/http",)),
    Rule("Go runtime: scheduler, timers, network poll", ("runtime.",)),
)


def does(sample: ProfileSample) -> str:
    """The activity."""
    return activity(sample.stack, ACTIVITIES)
