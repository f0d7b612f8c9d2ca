"""The built-in triggers: `from torpor.triggers import Duration, Http, Kubernetes, Time`.

A task pod only creates and serializes triggers, so each module is imported on first use. Triggers run in the triggerer
and do all I/O through its `Services`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torpor.triggers.approval import Approval
    from torpor.triggers.base import BaseTrigger
    from torpor.triggers.composite import AllOf, AnyOf
    from torpor.triggers.cron import Cron
    from torpor.triggers.events import TaskFailedEvent, TaskSkippedEvent, TaskSuccessEvent, TriggerEvent
    from torpor.triggers.file import File
    from torpor.triggers.http import Http
    from torpor.triggers.http_call import HttpCall
    from torpor.triggers.kubernetes import Kubernetes
    from torpor.triggers.mail import Mail
    from torpor.triggers.notification import Notification
    from torpor.triggers.object_store import Object
    from torpor.triggers.redis import Redis
    from torpor.triggers.sql import Sql
    from torpor.triggers.tcp import Tcp
    from torpor.triggers.time import Duration, Time
    from torpor.triggers.webhook import Webhook
    from torpor.triggers.workflow_end import TaskRunEnd, WorkflowEnd

__all__ = [
    "AllOf",
    "AnyOf",
    "Approval",
    "BaseTrigger",
    "Cron",
    "Duration",
    "File",
    "Http",
    "HttpCall",
    "Kubernetes",
    "Mail",
    "Notification",
    "Object",
    "Redis",
    "Sql",
    "TaskFailedEvent",
    "TaskRunEnd",
    "TaskSkippedEvent",
    "TaskSuccessEvent",
    "Tcp",
    "Time",
    "TriggerEvent",
    "Webhook",
    "WorkflowEnd",
]

_MODULES = {
    "AllOf": "composite",
    "AnyOf": "composite",
    "Approval": "approval",
    "BaseTrigger": "base",
    "Cron": "cron",
    "Duration": "time",
    "File": "file",
    "Http": "http",
    "HttpCall": "http_call",
    "Kubernetes": "kubernetes",
    "Mail": "mail",
    "Notification": "notification",
    "Object": "object_store",
    "Redis": "redis",
    "Sql": "sql",
    "TaskFailedEvent": "events",
    "TaskRunEnd": "workflow_end",
    "TaskSkippedEvent": "events",
    "TaskSuccessEvent": "events",
    "Tcp": "tcp",
    "Time": "time",
    "TriggerEvent": "events",
    "Webhook": "webhook",
    "WorkflowEnd": "workflow_end",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - imported on first use

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
