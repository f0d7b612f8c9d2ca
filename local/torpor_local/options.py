"""What the caller of a local run chooses, observes and gets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """The answer of a user to an approval. `fields` and `options` are those of its form."""

    approved: bool = True
    fields: Mapping[str, Any] = field(default_factory=dict)
    options: Sequence[str] = ()
    note: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the answers to the form, as the annotation has them."""
        return dict(self.fields) | ({"options": list(self.options)} if self.options else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a Workflow is played.

    `folder` keeps its state and its logs; `python` runs its python tasks, at most `jobs` at once. `events` are payloads
    by task, or by task and index as `load/3`: such a wait ends at once with the payload. `answers` are those of
    approvals, by the same names. `resume` goes on with the run
    of the folder. `working_directory` is that of tasks, by default the present one.
    `triggers` are further trigger classes: name to `module:Class`, which the process of the engine imports.
    """

    folder: Path
    python: str
    jobs: int = 4
    events: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[str, GivenAnswer] = field(default_factory=dict)
    skip_time: bool = False
    resume: bool = False
    working_directory: Path | None = None
    triggers: Mapping[str, str] = field(default_factory=dict)


class RunObserver(Protocol):
    """Sees the changes of a run."""

    def changed(self, kind: str, body: Mapping[str, Any]) -> None:
        """A Workflow or TaskRun was created or changed. Must not change the object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRunOutcome:
    """How a run ended.

    `state` is `Succeeded` or `Failed`; `reason` is that of the condition. `results` has the result of each task: the
    value, or a list for a mapped task. Of bytes, of a file, and of what `archived_results` leaves out it has the
    description: size, digest and type.
    `objects` are all Workflows, TaskRuns, pods and Events, as the API server stores them. `metrics` are lines: each
    sample of the author's metrics, as Prometheus reads it, and each metric without a value, with the cause.
    """

    state: str
    reason: str
    workflow: Object
    results: Mapping[str, Any]
    objects: Mapping[str, Sequence[Object]]
    metrics: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether the run succeeded."""
        return self.state == "Succeeded"


class LocalRunError(Exception):
    """A local run cannot start. The message is for the user."""
