"""Sources of the Schedules of tests, and what fires them."""

STREAM = {"name": "orders", "trigger": {"class": "redis", "kwargs": {"url": "redis://r", "stream": "o"}}}
HOOK = {"name": "hook", "trigger": {"class": "webhook", "kwargs": {}}}


def entry(number: int) -> dict[str, object]:
    """The event of the stream for its entry of this number."""
    return {"id": f"{number}-0", "fields": {"n": number}, "cursor": f"{number}-0"}
