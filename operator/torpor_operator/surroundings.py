"""What a pod is told of where it runs, beside its own numbers. Pure."""

from dataclasses import dataclass, field

from torpor_operator.pod_security import PodDefaults


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of triggerers: whether anybody serves it, and its public key, base64, if values can be sealed to it."""

    served: bool = True
    seal_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSeat:
    """Where the archive is, without a slash at its end, and the certificate that it made for itself, PEM."""

    url: str
    certificate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """`deferrable`: whether a sensor that leaves it open gives its pod back while it waits; `served`: if any can."""

    service_account: str
    deferrable: bool = True
    served: bool = True
    seal_key: str = ""
    archive: ArchiveSeat | None = None
    defaults: PodDefaults = field(default_factory=PodDefaults)
