"""Attributes samples of etcd's CPU profile to activities. Pure."""

from benchmarks.profile.pprof import ProfileSample
from benchmarks.profile.rules import ActivityRule, activity

ACTIVITIES = (
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


def does(sample: ProfileSample) -> str:
    """The activity."""
    return activity(sample.stack, ACTIVITIES)
