"""What the services of notifications get: the body of one call for each. Pure.

Text of a message may come from a program or a server. So no service may read a mention, a link or markup in it: Slack's
control characters are escaped, and Teams gets text runs, which have no markup.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from torpor_wire.text import printable_line

PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue"
_SLACK_TEXT_MAX = 8_000
_TEAMS_TEXT_MAX = 8_000
_SUMMARY_MAX = 1024
_SOURCE_MAX = 255
_SEVERITIES = {"failure": "error", "late": "warning"}
_TEAMS_LIMITED = "HTTP error 429"


class Message(NamedTuple):
    """A notification. `id` is the same each time that it is sent; `source` is the namespace and name of the run."""

    id: str
    event: str
    title: str
    text: str
    source: str


def slack(message: Message) -> dict[str, Any]:
    """Return the body of an incoming webhook of Slack."""
    title, text = _escaped(message.title), _escaped(message.text)
    return {"text": f"*{title}*\n{text}"[:_SLACK_TEXT_MAX] if text else title, "unfurl_links": False}


def teams(message: Message) -> dict[str, Any]:
    """Return the body of a Teams workflow: an adaptive card with text runs."""
    lines = [_text_run(message.title, weight="Bolder"), _text_run(message.text)] if message.text else []
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": message.title,
        "body": lines or [_text_run(message.title, weight="Bolder")],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def pagerduty(message: Message, routing_key: str) -> dict[str, Any]:
    """Return an event of PagerDuty's Events API v2. It joins events with the same `dedup_key`."""
    return {
        "routing_key": routing_key,
        "event_action": "trigger",
        "dedup_key": message.id[:255],
        "payload": {
            "summary": message.title[:_SUMMARY_MAX],
            "source": message.source[:_SOURCE_MAX],
            "severity": _SEVERITIES.get(message.event, "info"),
            "component": "torpor",
            "class": message.event,
            "custom_details": {"text": message.text},
        },
    }


def webhook(message: Message) -> dict[str, Any]:
    """Return the body for a service of one's own."""
    return dict(message._asdict())


def is_limited(service: str, body: bytes) -> bool:
    """Return whether a body says that a limit was reached. Connectors of Teams do so with status 200."""
    return service == "teams" and _TEAMS_LIMITED.encode() in body


def single_line(text: str) -> str:
    """Return text as one line of printable characters, for headers and titles."""
    return printable_line(" ".join(text.split()))


def _escaped(text: str) -> str:
    """Escape what Slack reads as a mention or a link (`<!channel>`, `<https://...|text>`)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _text_run(text: str, **style: str) -> Mapping[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text[:_TEAMS_TEXT_MAX], **style}]}
