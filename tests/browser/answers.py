"""Answers of the server that a made-up cluster does not give by itself: what a large installation would show."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

Object = dict[str, Any]
NOW = time.time()
_ALLOWED = {"allowed": True, "reason": ""}
_TODAY = datetime.now(UTC).date()
FORBIDDEN = {"allowed": False, "reason": "You may not patch Workflows in this namespace."}


def _schedule(name: str, **more: Any) -> Object:
    return {
        "namespace": "data",
        "name": name,
        "template": "ingest",
        "suspended": False,
        "ready": True,
        "tone": "ok",
        "message": "",
        "sources": [{"name": "nightly", "kind": "cron", "text": "0 2 * * *", "timeZone": "Europe/Berlin"}],
        "next": [NOW + 3600 * (1 + 24 * number) for number in range(10)],
        "last": NOW - 79_000,
        "lastRun": "live/data/big-load",
        "lastState": "Succeeded",
        "lastTone": "ok",
        "active": [],
        "concurrency": "Queue, at most 3",
        "missed": 2,
        "skipped": 1,
        "queue": [{"at": NOW - 60, "source": "nightly", "text": "tick of 02:00"}],
        "acts": {"schedule-pause": _ALLOWED, "schedule-run": _ALLOWED, "backfill": FORBIDDEN},
        **more,
    }


def _times(number: int) -> tuple[float, float]:
    return NOW - 86_400 * number, NOW - 86_400 * number + 2


def _calendar() -> list[Object]:
    return [
        {
            "day": str(_TODAY - timedelta(days=back)),
            "ok": 1 + back % 4,
            "failed": int(back % 17 == 3),
            "missed": int(back % 29 == 5),
            "skipped": int(back % 23 == 7),
        }
        for back in range(180)
    ]


_ENDS = {False: ("Succeeded", "ok"), True: ("Failed", "bad")}
_RUN_COLUMNS = ["key", "name", "state", "tone", "created", "started", "duration"]
SCHEDULES = [
    _schedule("nightly-census"),
    _schedule("ledger-close", suspended=True, tone="skip"),
    _schedule("sla-report", ready=False, tone="bad", message="The template sla-report does not exist."),
]
SCHEDULE = _schedule("nightly-census") | {
    "calendar": _calendar(),
    "runs": {
        "columns": _RUN_COLUMNS,
        "rows": [
            [
                f"live/data/nightly-{number}",
                f"nightly-{number}",
                *_ENDS[number % 5 == 2],
                *_times(number),
                312.0 + number,
            ]
            for number in range(14)
        ],
    },
}
_APPROVAL = {
    "key": "ask",
    "run": "live/data/big-load",
    "runName": "ledger-close-10003",
    "namespace": "data",
    "task": "ask",
}
APPROVALS = [
    _APPROVAL
    | {"question": "Close the ledger of October? 3 invoices are open.", "since": NOW - 7200, "deadline": NOW + 172_800}
    | {"approvers": ["group finance", "ann@example.org"], "mayAnswer": True, "reason": ""},
    _APPROVAL
    | {"key": "confirm", "task": "confirm", "question": "Deploy 1.4?", "since": NOW - 300, "deadline": None}
    | {"approvers": [], "mayAnswer": False, "reason": "You may not patch TaskRuns in this namespace."},
]
TRIGGERERS = {
    "replicas": [
        {"pool": "default", "name": f"torpor-triggerer-{number}", "ready": number < 2, "shards": 64, "waits": 20_411}
        | {"loopLag": (0.004, 0.071, None)[number], "renewed": NOW - 2}
        for number in range(3)
    ],
    "pools": [{"name": "default", "replicas": 3, "ready": 2, "shards": 128, "waits": 40_244}],
    "waits": {
        "byClass": [["http", 18_211], ["time", 9_120], ["sql", 7_004], ["object", 3_390], ["redis", 1_701]],
        "byHost": [["api.example.org", 12_007], ["warehouse.example.org:5432", 7_004], ["redis-main:6379", 1_701]],
        "byAge": [["under 1 min", 1_220], ["1 to 10 min", 8_140], ["10 to 60 min", 14_300], ["over 1 h", 15_766]],
    },
    "shared": [{"class": "http", "subject": "https://status.vendor.example/v2/export/ready", "waits": 6_204}],
    "blamed": [
        {"class": "own.SensorTrigger", "namespace": "ml", "subject": "json.loads of 40 MB", "seconds": 0.41}
        | {"reason": "ran on the event loop", "since": NOW - 400}
    ],
    "due": [
        {"key": f"load/{number}", "run": "live/data/big-load", "runName": "big-load", "namespace": "data"}
        | {"task": f"load[{number}]", "class": "http", "at": NOW + 120 + number * number}
        for number in range(120)
    ],
    "notes": [],
}
CLUSTER = {
    "pods": 118,
    "waits": 40_256,
    "saved": {"podHours": 912_440, "now": 40_256},
    "runs": {"Running": 412, "Succeeded": 8_903, "Failed": 641},
    "slots": [
        {"namespace": "data", "name": "warehouse", "size": 20, "used": 20, "queued": 131},
        {"namespace": "ml", "name": "gpu", "size": 8, "used": 3, "queued": 0},
    ],
    "quotas": [{"namespace": "data", "resource": "pods", "hard": 50, "used": 47}],
    "history": {
        "t": [NOW - 60 * back for back in range(300, 0, -1)],
        "pods": [110 + back % 17 for back in range(300)],
        "waits": [300 + back for back in range(300)],
    },
    "pools": TRIGGERERS["pools"],
    "notes": [],
}
LISTS: dict[str, object] = {
    "schedules/data/nightly-census": SCHEDULE,
    "schedules": SCHEDULES,
    "approvals": APPROVALS,
    "triggerers": TRIGGERERS,
    "cluster": CLUSTER,
    "access": {"acts": {}},
}
"""By the path below `api/`."""
PREVIEW = {
    "effects": ["load[3] runs again.", "report runs again, since it depends on load[3]."],
    "command": "torpor retry big-load load/3",
    "allowed": True,
    "reason": "",
    "warnings": ["The result of load[3] is deleted."],
}
TEMPLATES = [
    {
        "namespace": "data",
        "name": "ingest",
        "description": "Loads a day.",
        "params": [
            {
                "name": "day",
                "type": "string",
                "pattern": r"\d{4}-\d{2}-\d{2}",
                "required": True,
                "description": "The day",
            },
            {"name": "mode", "type": "string", "enum": ["full", "delta"], "default": "delta", "required": False},
            {"name": "limit", "type": "integer", "required": False, "default": 1000},
            {"name": "dry", "type": "boolean", "required": False},
            {"name": "regions", "type": "array", "required": False},
        ],
    }
]
