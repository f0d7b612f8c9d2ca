"""The triggerer: runs the triggers that deferred TaskRuns wait for, and fires them.

One asyncio loop, many waits, no pod. What a replica works on follows from the Leases of its pool (`membership`,
`rendezvous`, `streams`), what it sees comes through reflectors (`watches`), what it runs is the difference between what
waits and what runs (`runner`), and what comes of it is one fenced write (`report`). Who wins that write is decided by
the API server alone, so a trigger that runs twice costs a poke and never a resume.
"""
