"""One class name has one meaning in the whole repository. Private classes are excluded."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = (
    "archive",
    "benchmarks",
    "cli",
    "crds",
    "dev",
    "examples",
    "libraries",
    "local",
    "operator",
    "tests",
    "triggerer",
    "worker-image",
)
CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)
NOT_YET_RENAMED = """
Address Answer Api ApiError Approvers Archive Archived Argument Block Blocking Blocks Broken Bytes Call Calm
Capacity Case Change ClearedTask Client Cluster CodeLocation Command Condition Container Counted Counts Creations
Cron Database Decision Deferral Ends Entries Entry Environment EventKey Expression Facts Failed Failure FairQueue
FakeArchive Field File Filters Finished Fired Follower Foreign Found Group Holder Host Http Image Instance Instances
Interval Invalid Item Items Key Kind Kubelet Limits Line Lines Listed Load LogReader Logs Looks Loop Lost Machine
Many Mark Measurement Memo Meter Metrics Missing Name Namespaces Network Node Noting ObjectRef Objects Observer Odd
Operator Outcome Page Pair Parts Period Phase Plain Plan Plane Played Pod PodLog Polls Pool Port Position Problem
Process Program Progress Raises Reader Reason Reference Refusal Refused RejectedError Replica Request Resolver
Resource Response Result Results Resume Retries Routes Row Rule Run RunStore RunningPod Runs Said Sample Schedule
Seen Selection Server Session Settings Sighting Sightings Site Sizes Skip Skipped Source Stage State Store Stored
Style System Table Target Task TaskRun TaskRunView TaskState Template Threads Tick TimedOut TooLarge Transport Tree
Trigger Unanswered Unavailable Unreadable UnreadableError UnspeakableError Uploads Usage Verdict Wait Waiting Waits
Watch Watches Web Worker Workflow World
"""


def classes(text: str) -> set[str]:
    """The classes at the top of a module; `CLASS` also finds those of a program in a string."""
    return {node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def test_a_class_name_has_one_meaning_in_the_repository() -> None:
    texts = {path: path.read_text() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    paths: dict[str, list[Path]] = {}
    for path, text in texts.items():
        for name in set(CLASS.findall(text)) - set(NOT_YET_RENAMED.split()):
            paths.setdefault(name, []).append(path)
    shared = {
        name: defined
        for name, found in paths.items()
        if len(found) > 1 and len(defined := [str(path) for path in found if name in classes(texts[path])]) > 1
    }
    assert shared == {}
