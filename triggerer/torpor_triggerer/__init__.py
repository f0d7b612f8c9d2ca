"""The triggerer: runs the triggers that deferred TaskRuns wait for, and writes their outcomes.

One asyncio event loop runs all waits of a replica. `sharding` decides from the Leases of the pool which TaskRuns a
replica serves. `running` starts and stops triggers accordingly, and `reporting` writes each outcome as one conditional
patch. Of two replicas that run the same trigger, the API server accepts the patch of one.
"""
