"""The controller: observe -> plan(Snapshot, now) -> apply.

The plan is a pure function of a Workflow, its TaskRuns and their pods; everything that does I/O is in `apply`,
`reconciler`, `handlers` and `__main__`.
"""
