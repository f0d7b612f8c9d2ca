"""One Kubernetes object of any kind, as it is and each time it changes: a list of one, then a watch.

Reads only namespaced kinds, since the triggerer may read more than who asks. What cannot get better by waiting (no such
kind, no right to read it) is raised, for a wait that can never end helps nobody.
"""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

from torpor_api import discovery, errors
from torpor_api.api import Api
from torpor_api.resources import Resource

FIRST_DELAY = 0.2
LAST_DELAY = 30.0
LABEL_WATCH = "torpor.dev/aggregate-to-triggerer-watch"

log = logging.getLogger(__name__)


class Subject(NamedTuple):
    """Which object."""

    api_version: str
    kind: str
    namespace: str
    name: str


async def versions(api: Api, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
    """The object's versions, for ever; nothing while it does not exist.

    Raises ValueError for a kind that does not exist or has no namespace, PermissionError where it may not be read.
    """
    delay = FIRST_DELAY
    while True:
        try:
            async with aclosing(_once(api, subject)) as seen:
                async for version in seen:
                    delay = FIRST_DELAY
                    yield version
        except errors.Forbidden as error:
            raise PermissionError(
                f"the triggerer may not watch {subject.kind}: {error.message}; "
                f"an administrator can allow it with a ClusterRole labelled {LABEL_WATCH}"
            ) from error
        except errors.NotFound as error:
            raise ValueError(error.message) from error
        except errors.ApiError as error:
            log.info("%s %s/%s: looking again: %s", subject.kind, subject.namespace, subject.name, error.message)
        await api.clock.sleep(delay * (0.5 + api.jitter() / 2))
        delay = min(LAST_DELAY, 2 * delay)


async def _once(api: Api, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
    """List it, then watch until the server ends a watch in which nothing happened, or it breaks."""
    resource = await discovery.resolve(api, subject.api_version, subject.kind)
    if not resource.namespaced:
        raise ValueError(f"a {subject.kind} has no namespace, and a workflow can only wait for objects of its own")
    selector = f"metadata.name={subject.name}"
    page = await api.list(resource, subject.namespace, field_selector=selector)
    for item in page.items:
        yield _shown(resource, item)
    version = page.resource_version
    while True:
        before = version
        events = api.watch(resource, subject.namespace, resource_version=version, field_selector=selector)
        async with aclosing(events):
            async for event in events:
                version = event.object["metadata"]["resourceVersion"]
                if event.type in {"ADDED", "MODIFIED"}:
                    yield _shown(resource, event.object)
        if version == before:
            return


def _shown(resource: Resource, item: Mapping[str, Any]) -> Mapping[str, Any]:
    """As `kubectl get -o yaml` shows it: items of a list lack apiVersion and kind; managedFields are left out."""
    metadata = {name: value for name, value in item["metadata"].items() if name != "managedFields"}
    return {"apiVersion": resource.api_version, "kind": resource.kind, **item, "metadata": metadata}
