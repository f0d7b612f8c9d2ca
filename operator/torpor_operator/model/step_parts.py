"""The results of steps that are too large for a TaskRun: the archive combines them into one result (ADR 0061)."""

from dataclasses import dataclass

from torpor_crds.models.archive import StoredResult


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPart:
    """The result of a step: JSON text, or the digest of its body in the archive."""

    name: str
    text: str | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CombineSteps:
    """Let the archive store an object with the result of each step. A repeated request stores the same."""

    namespace: str
    taskrun: str
    uid: str
    parts: tuple[StepPart, ...]


@dataclass(frozen=True, slots=True)
class StepsCombined:
    """The description of the object in the archive."""

    stored: StoredResult


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsNotCombined:
    """Why the archive has not stored the object. `is_final`: it never will."""

    message: str
    is_final: bool = False
