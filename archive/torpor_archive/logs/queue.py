"""Orders the logs to read: namespaces take turns, and each has a share of the slots. Pure.

A pod that is being deleted comes first, because its log ends with it. It has slots of its own, as reading it takes
until the pod ends.
"""

from collections import Counter, deque
from dataclasses import dataclass

from torpor_wire.retry import Backoff

from torpor_archive.limits.transfer_slots import SlotLimits
from torpor_archive.logs.logged_pod import LoggedPod, LogStage

RETRY_BACKOFF = Backoff(first=10.0, cap=900.0, jitter=0.0)
"""The operator keeps an ended pod for 30 seconds, so the first retry comes in time."""


READS = SlotLimits(total=24, per_namespace=8, reserved=8)
FOLLOWS = SlotLimits(total=96, per_namespace=24, reserved=24)


class _Lane:
    def __init__(self, limits: SlotLimits) -> None:
        self._limits = limits
        self._queues: dict[str, deque[str]] = {}
        self._held: Counter[str] = Counter()

    def add(self, namespace: str, uid: str) -> None:
        self._queues.setdefault(namespace, deque()).append(uid)

    def take(self) -> tuple[str, str] | None:
        """The next log of the namespace that waits longest for its turn."""
        for namespace in self._queues:
            if self._limits.allow(namespace, self._held):
                queue = self._queues.pop(namespace)
                uid = queue.popleft()
                if queue:
                    self._queues[namespace] = queue  # as the last
                self._held[namespace] += 1
                return namespace, uid
        return None

    def release(self, namespace: str) -> None:
        self._held[namespace] -= 1
        if not self._held[namespace]:
            del self._held[namespace]


class LogQueue:
    """The pods whose logs are to be read, by uid."""

    def __init__(self, reads: SlotLimits = READS, follows: SlotLimits = FOLLOWS) -> None:
        self._lanes = {True: _Lane(follows), False: _Lane(reads)}
        self._pods: dict[str, LoggedPod] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def add(self, pod: LoggedPod) -> None:
        """Add a pod, or its newer version. A pod that was queued to be read and is deleted now is followed."""
        known = self._pods.get(pod.uid)
        self._pods[pod.uid] = pod
        if known is None or _is_followed(known) != _is_followed(pod):
            self._lanes[_is_followed(pod)].add(pod.namespace, pod.uid)

    def take(self, most: int) -> list[LoggedPod]:
        """Take pods whose logs may be read now. `release` each afterwards."""
        taken: list[LoggedPod] = []
        for is_followed, lane in self._lanes.items():
            while len(taken) < most and (entry := lane.take()):
                namespace, uid = entry
                pod = self._pods.get(uid)
                if pod is None or _is_followed(pod) != is_followed:
                    lane.release(namespace)  # it has moved to the other lane, or was taken from there
                    continue
                taken.append(self._pods.pop(uid))
        return taken

    def release(self, pod: LoggedPod) -> None:
        """Free the slot of a pod as it was taken."""
        self._lanes[_is_followed(pod)].release(pod.namespace)


def _is_followed(pod: LoggedPod) -> bool:
    return pod.stage is LogStage.FOLLOW


@dataclass(frozen=True, slots=True, kw_only=True)
class _Retry:
    failures: int
    due: float


class LogRetries:
    """The logs to read again later, by uid of the pod. Times are those of a monotonic clock."""

    def __init__(self) -> None:
        self._retries: dict[str, _Retry] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._retries

    def failed(self, uid: str, now: float) -> None:
        """Schedule the next try."""
        failures = self._retries[uid].failures + 1 if uid in self._retries else 1
        self._retries[uid] = _Retry(failures=failures, due=now + RETRY_BACKOFF.delay(failures))

    def forget(self, uid: str) -> None:
        """Schedule no more tries of a log."""
        self._retries.pop(uid, None)

    def take_due(self, now: float) -> list[str]:
        """Return the logs to read now. Each is due again later, unless it is forgotten or fails meanwhile."""
        due = [uid for uid, retry in self._retries.items() if retry.due <= now]
        for uid in due:
            failures = self._retries[uid].failures
            self._retries[uid] = _Retry(failures=failures, due=now + RETRY_BACKOFF.delay(failures))
        return due
