"""Who may do what: pure decisions over what the API server said of who asks, and of the TaskRun they say they are of.

A pod is known by the uid that its token is bound to, never by a name it gives; a TaskRun's `status.pod` says whose turn
it is, and only the fence's rules let that be written (adr/0012).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torpor_wire import constants
from torpor_wire.state import State

from torpor_archive import errors
from torpor_archive.errors import Refusal

POD_UID = "authentication.kubernetes.io/pod-uid"
POD_NAME = "authentication.kubernetes.io/pod-name"
_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, as a TokenReview says."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """The namespace of a ServiceAccount; empty for anybody else."""
        return self.user.removeprefix(_ACCOUNT).partition(":")[0] if self.user.startswith(_ACCOUNT) else ""

    @property
    def pod_uid(self) -> str:
        """Of the pod that the token is bound to; empty where it is bound to none."""
        return next(iter(self.extra.get(POD_UID, ())), "")

    @property
    def pod_name(self) -> str:
        """For people."""
        return next(iter(self.extra.get(POD_NAME, ())), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What matters of a TaskRun."""

    uid: str
    workflow: str
    state: str
    pod_uid: str
    launch: tuple[int, int, int] = (0, 0, 0)
    """Attempt, segment, launch."""
    pool: str = constants.DEFAULT_POOL
    """Whose triggerers its waits are."""


def caller(review: Mapping[str, Any]) -> Caller | None:
    """Who the token of a TokenReview's status is of; None for a token that is none."""
    user = review.get("user")
    if review.get("authenticated") is not True or not isinstance(user, Mapping):
        return None
    extra = user.get("extra") or {}
    return Caller(
        user=str(user.get("username", "")),
        uid=str(user.get("uid", "")),
        groups=tuple(user.get("groups") or ()),
        extra={key: tuple(values) for key, values in extra.items()},
    )


def standing(taskrun: Mapping[str, Any]) -> Standing:
    """Of a TaskRun as the API server gives it, of this or a newer version."""
    status = taskrun.get("status") or {}
    return Standing(
        uid=taskrun["metadata"]["uid"],
        workflow=taskrun["spec"]["workflow"]["uid"],
        state=status.get("state", ""),
        pod_uid=(status.get("pod") or {}).get("uid") or "",
        pool=taskrun["spec"].get("triggerPool") or constants.DEFAULT_POOL,
        launch=(status.get("attempt") or 0, status.get("segment") or 0, status.get("launch") or 0),
    )


def may_ask(who: Caller, namespace: str) -> Refusal | None:
    """Whether a pod may ask for anything in this namespace at all; before a TaskRun is read for it."""
    if not who.pod_uid:
        return errors.forbidden(f"the token of {who.user} is bound to no pod: task pods use their projected one")
    if who.namespace != namespace:
        return errors.forbidden(f"{who.user} is of namespace {who.namespace!r}, and this is {namespace!r}")
    return None


def may_write(who: Caller, name: str, stands: Standing) -> Refusal | None:
    """Whether a pod may put the result of this TaskRun."""
    mine = _is_mine(who, name, stands)
    if mine is None and stands.state != State.RUNNING:
        return errors.forbidden(f"TaskRun {name} is {stands.state}; a result is put while it is Running")
    return mine


def may_end(name: str, stands: Standing) -> Refusal | None:
    """Whether a triggerer of its pool may put the event of this TaskRun's wait."""
    if stands.state != State.DEFERRED:
        return errors.forbidden(f"TaskRun {name} is {stands.state}; an event is put while it is Deferred")
    return None


def may_read(who: Caller, name: str, stands: Standing, workflow: str) -> Refusal | None:
    """Whether a pod of this TaskRun may read a result of a run of this uid."""
    mine = _is_mine(who, name, stands)
    if mine is None and stands.workflow != workflow:
        return errors.forbidden(f"the result is of another Workflow than TaskRun {name}, which may not read it")
    return mine


def _is_mine(who: Caller, name: str, stands: Standing) -> Refusal | None:
    if not stands.pod_uid or stands.pod_uid != who.pod_uid:
        return errors.forbidden(f"pod {who.pod_name} is not the one that has claimed TaskRun {name}")
    return None
