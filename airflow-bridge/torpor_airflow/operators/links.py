"""Links of an operator, which Airflow's task runner pushes as XComs. In the result they are the links of the task."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from torpor_wire import canonical

from torpor_airflow.operators import hidden_texts

COUNT_MAX = 20
NAME_MAX = 100
"""As on the page."""
BYTES_MAX = 2_000
"""Of the links of a task: they are part of its result."""
_WEB = ("http://", "https://")

log = logging.getLogger("task")


def keys(operator: Any) -> Mapping[str, str]:
    """Return the names of the links of an operator by the keys of their XComs."""
    return {each.xcom_key: str(each.name) for each in operator.operator_extra_links}


def parse_links(operator: Any, pushed: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the links that lead to a web page, as objects of name and URL. Many operators have one without a URL.

    Further ones, and those whose URL has a secret, are left out: a result is on the TaskRun. The log has the others,
    also those of a task that fails.
    """
    links: list[dict[str, str]] = []
    for key, name in keys(operator).items():
        url = pushed.get(key)
        if not isinstance(url, str) or not url:
            continue
        link = {"name": name[:NAME_MAX], "url": url}
        if (problem := _problem(url, [*links, link])) is not None:
            log.warning("the link %s is left out: %s", link["name"], problem)
            continue
        log.info("link %s: %s", link["name"], url)
        links.append(link)
    return links


def _problem(url: str, links: Sequence[Mapping[str, str]]) -> str | None:
    """Return why a URL cannot be the last one of these links, None if it can."""
    if not url.startswith(_WEB):
        return "it is not an http link"
    try:
        size = len(canonical.plain(links).encode())
    except canonical.NotJsonError:
        return "it is not a text"
    if len(links) > COUNT_MAX or size > BYTES_MAX:
        return f"a task has up to {COUNT_MAX} links with {BYTES_MAX} bytes"
    return "its URL has a secret" if hidden_texts.contains_secret(url) else None
