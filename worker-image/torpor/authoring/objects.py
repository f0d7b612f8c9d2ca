"""Builds a task that acts on an object of the cluster."""

import re
from collections.abc import Mapping
from typing import Any

from torpor.authoring.build import required
from torpor.decorators import TaskFunction


@TaskFunction
def object_task(  # noqa: PLR0913 - the fields of an object task
    manifest: Mapping[str, object],
    *,
    manifest_from: Mapping[str, str] | None = None,
    action: str = "create",
    until: str | None = None,
    fail_when: str | None = None,
    result: str | None = None,
    delete_on_end: str | None = None,
    service_account_name: str | None = None,
    timeout: str | None = None,
) -> Any:
    """Create or change an object of the cluster, such as a Job, and wait until `until` is true of it.

    `manifest_from` is the `name` of a ConfigMap and the `key` of an entry with more fields of the manifest.
    """
    required("object_task(...)")
    call = {
        "action": None if action == "create" else action,
        "manifest": manifest,
        "manifestFrom": {"configMapKeyRef": dict(manifest_from)} if manifest_from else None,
        "until": until,
        "failWhen": fail_when,
        "result": result,
        "deleteOnEnd": delete_on_end,
        "serviceAccountName": service_account_name,
        "timeout": timeout,
    }
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", str(manifest.get("kind", "object"))).lower()
    return {"name": name, "object": {key: call[key] for key in call if call[key]}}
