"""Links of an operator, which Airflow's task runner pushes as XComs. In the result they are the links of the task."""

import logging
from collections.abc import Mapping
from typing import Any

COUNT_MAX = 20
URL_MAX = 2_000
_WEB = ("http://", "https://")

log = logging.getLogger("task")


def keys(operator: Any) -> Mapping[str, str]:
    """Return the names of the links of an operator by the keys of their XComs."""
    return {each.xcom_key: str(each.name) for each in operator.operator_extra_links}


def read(operator: Any, pushed: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the links that lead to a web page, as objects of name and URL. Many operators have one without a URL.

    Further ones are left out. The log has each link, also that of a task that fails.
    """
    found: list[dict[str, str]] = []
    for key, name in keys(operator).items():
        url = pushed.get(key)
        if not isinstance(url, str) or not url:
            continue
        if not url.startswith(_WEB) or len(url) > URL_MAX or len(found) == COUNT_MAX:
            log.warning("the link %s is left out: a task has %d http links of %d characters", name, COUNT_MAX, URL_MAX)
            continue
        log.info("link %s: %s", name, url)
        found.append({"name": name, "url": url})
    return found
