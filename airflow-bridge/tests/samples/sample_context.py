"""The context of a task whose operator a test runs in its own process."""

from torpor import Context

CONTEXT = Context(
    namespace="team",
    workflow="report",
    task="load",
    map_index=-1,
    attempt=1,
    segment=0,
    taskrun="report-load-abcde",
    uid="11111111-2222-3333-4444-555555555555",
)
