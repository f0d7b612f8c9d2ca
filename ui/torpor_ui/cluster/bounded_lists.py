"""Lists of many objects, page by page and up to a bound, without holding more than one page of JSON."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing

from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import Resource
from torpor_wire.state import State

OBJECTS_MAX = 20_000
PAGE = 250
"""Objects of a page: its JSON is decoded on the event loop."""


DEFERRED = f"status.state={State.DEFERRED}"
"""The field selector of TaskRuns that wait."""


async def read_each(  # noqa: PLR0913 - the options of a list
    api: Api,
    resource: Resource,
    namespaces: Sequence[str | None],
    take: Callable[[Sequence[Object]], None],
    *,
    field_selector: str = "",
    label_selector: str = "",
    most: int = OBJECTS_MAX,
) -> bool:
    """Give each page to `take`, in a thread. Return whether these were all. Raises ApiError.

    A list whose version the API server forgets ends early, as if it were too long.
    """
    number = 0
    for namespace in namespaces:
        pages = api.pages(resource, namespace, field_selector=field_selector, label_selector=label_selector, limit=PAGE)
        try:
            async with aclosing(pages):
                async for page in pages:
                    await asyncio.to_thread(take, page.items)
                    number += len(page.items)
                    if number >= most:
                        return False
        except api_errors.Gone:
            return False
    return True
