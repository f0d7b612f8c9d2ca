"""The API server in memory (`torpor_local.apiserver`) with faults and records: a `Transport` in virtual time.

    clock = VirtualClock()
    fake = FakeApi(clock)                       # latency=0.01 for requests that take time
    api = Api(fake, clock, jitter=lambda: 0.5)

    fake.put(TASKRUNS, body)                    # begin in the middle: status is kept; returns the stored object
    fake.get(PODS, "ns", "name")                # None if there is none; fake.all(PODS)
    fake.edit(PODS, "ns", "name", {"status": {"phase": "Running"}})   # as a kubelet would: merged, null removes
    fake.remove(PODS, "ns", "name")             # gone, whatever its finalizers

    fake.requests                               # every request; fake.writes() only those that write
    fake.inject(Fault(status=503, method="PATCH", path="/status", times=2))
    fake.inject(Fault(commit=True))             # carried out, but the reply is lost; without commit: never arrives
    fake.on_write = function                    # called with each write before it is carried out; may raise
    fake.objects.rules["TaskRun"] = function    # (before, after) -> what is wrong, answered as 422 with causes
    fake.objects.graceful_pods = True           # a deleted pod stays, with deletionTimestamp, until fake.remove
    fake.objects.nodes = True                   # of those, only one with spec.nodeName; others go at once, as they do
    fake.objects.collects_at_once = False       # until fake.objects.collect_garbage({}): the collector takes its time
    fake.history.on_change = function           # called with each change, before anybody else sees it

    fake.compact()                              # 410 for who is behind, inside its watch or for its next page
    fake.bookmark(); fake.end_watches(); fake.end_watches(Gone("..."))
    fake.hold_watches(); fake.release_watches() # watchers fall behind meanwhile

    await clock.advance(30); await settle()     # virtual time; run everything until all tasks wait

It has resourceVersions (one integer counter), JSON Patch with `test` (422 without causes), the status subresource,
the default status of a new TaskRun, label selectors, the field selectors that the CRDs declare, finalizers, garbage
collection by ownerReferences (at once), and discovery of the kinds it serves (`fake.serve` adds one). It has no
admission, no schemas, no namespaces of its own, and no controllers: nothing starts pods.
"""

from tests.support.fake_api.clock import VirtualClock, settle
from tests.support.fake_api.server import FakeApi, Fault

__all__ = ["FakeApi", "Fault", "VirtualClock", "settle"]
