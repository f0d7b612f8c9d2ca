"""Links that a task reports in its result: `{"__links__": [{"name": "Job", "url": "https://…"}], …}`. Pure.

They are data of a program. A link that is not one to a web page is left out.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from torpor_wire.text import printable_line

from torpor_views import json_fields

KEY = "__links__"
COUNT_MAX = 20
URL_MAX = 2_000
NAME_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLink:
    """A link to a web page, and its name."""

    name: str
    url: str


def of_result(result: Any) -> tuple[ResultLink, ...]:
    """Return the links of a result, each URL once. Never raises for its content."""
    found: dict[str, ResultLink] = {}
    for each in json_fields.objects(json_fields.fields(result).get(KEY))[:COUNT_MAX]:
        url = json_fields.text(each.get("url"))
        if url not in found and is_web_page(url):
            name = printable_line(json_fields.text(each.get("name")))[:NAME_MAX]
            found[url] = ResultLink(name=name or url[:NAME_MAX], url=url)
    return tuple(found.values())


def is_web_page(url: str) -> bool:
    """Whether a URL is one over HTTP with a host, without a user, and in characters that an address may have."""
    if len(url) > URL_MAX or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
