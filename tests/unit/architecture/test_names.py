"""One class name has one meaning in the repository, private classes excluded, and no function is named `of`."""

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
FUNCTION_OF = re.compile(r"^ *(?:async )?def of\(", re.MULTILINE)
SHARED = {
    "Argument": "the model of the kind, and what a task pod reads of it with the standard library alone",
    "File": "a trigger that users import, and a row of an example",
    "Row": "each example is a program of its own",
    "Task": "the model of the kind, and what authors import",
    "TaskRun": "the model of the kind, and what a task pod reads of it with the standard library alone",
    "Workflow": "the model of the kind, and what authors import",
}
"""Names that stay shared, and why."""

NOT_YET_RENAMED = """
Answer Archive Blocking Blocks Broken Call Capacity Case Client Cluster CodeLocation Ends Entry Failed FairQueue
FakeArchive Fired Key Kubelet Many Memo Network ObjectRef Odd Page Plain Pod PodLog Process Raises Reader Reason
Reference Replica Request Resolver Run RunStore RunningPod Said Schedule Server Session Settings Site Skipped Source
Stage State Stored Table Threads TimedOut TooLarge Trigger UnspeakableError Uploads Wait Waits Web World
"""
"""Classes of several meanings; shrinks."""
NOT_YET_RENAMED_OF = """
archive/torpor_archive/logs/mode.py
archive/torpor_archive/storage/run_retention.py
libraries/expressions/torpor_expressions/errors.py
libraries/expressions/torpor_expressions/references.py
libraries/views/torpor_views/model.py
libraries/wire/torpor_wire/index_ranges.py
local/torpor_local/apiserver/routes.py
operator/torpor_operator/backfills/plan/progress.py
operator/torpor_operator/backfills/plan/snapshot.py
operator/torpor_operator/backfills/plan/tick_decision.py
operator/torpor_operator/schedules/plan/concurrency.py
operator/torpor_operator/schedules/plan/conditions.py
operator/torpor_operator/schedules/plan/draft.py
operator/torpor_operator/taskrun/seen_instances.py
tests/integration/triggerer/test_library.py
tests/integration/triggers/test_redis.py
tests/simulation/checks/creations.py
tests/unit/expressions/test_references.py
tests/unit/local/local_runs.py
tests/unit/manifests/test_archive_component.py
tests/unit/manifests/test_monitoring.py
tests/unit/manifests/test_pool_component.py
tests/unit/views/test_why_instances.py
tests/unit/views/test_why_waits.py
triggerer/torpor_triggerer/network/addresses.py
worker-image/torpor/runtime/archive/upload.py
"""
"""Modules with a function named `of`; shrinks."""


def sources() -> dict[Path, str]:
    return {path: path.read_text() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}


def classes(text: str) -> set[str]:
    """The classes at the top of a module; `CLASS` also finds those of a program in a string."""
    return {node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def test_a_class_name_has_one_meaning_in_the_repository() -> None:
    texts = sources()
    paths: dict[str, list[Path]] = {}
    for path, text in texts.items():
        for name in set(CLASS.findall(text)) - SHARED.keys() - set(NOT_YET_RENAMED.split()):
            paths.setdefault(name, []).append(path)
    shared = {
        name: defined
        for name, found in paths.items()
        if len(found) > 1 and len(defined := [str(path) for path in found if name in classes(texts[path])]) > 1
    }
    assert shared == {}


def test_a_function_says_what_it_returns_rather_than_of() -> None:
    found = {str(path.relative_to(ROOT)) for path, text in sources().items() if FUNCTION_OF.search(text)}
    assert found - set(NOT_YET_RENAMED_OF.split()) == set()
