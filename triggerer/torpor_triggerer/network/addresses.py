"""Which addresses waits may be connected to. Pure.

A wait's author is not the triggerer: what listens on loopback, beside the pod or in the control plane trusts those who
can reach it, and the triggerer can. So the addresses that no author has a reason to name are denied, of the rest an
operator of the triggerer decides. The most specific network counts; of equal ones a setting counts more than a default,
and a denial more than a permission.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

DENIED: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "unspecified"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local, as metadata services of clouds are"),
    ("100.100.100.200/32", "a metadata service"),
    ("192.0.0.192/32", "a metadata service"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("fd00:ec2::254/128", "a metadata service"),
    ("fd20:ce::254/128", "a metadata service"),
    ("ff00::/8", "multicast"),
)
_NAT64 = ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What holds for a network; `why` is of a denial."""

    network: Network
    allows: bool
    why: str = ""
    is_default: bool = False

    @property
    def weight(self) -> tuple[int, bool, bool]:
        """By which one rule counts more than another that matches too."""
        return self.network.prefixlen, not self.is_default, not self.allows


@dataclass(frozen=True, slots=True)
class Addresses:
    """The rules of a process."""

    rules: tuple[Rule, ...]

    @classmethod
    def of(
        cls, *, allow: Iterable[str] = (), deny: Iterable[str] = (), own: Mapping[str, str] | None = None
    ) -> "Addresses":
        """The defaults, `own` addresses with what they are, and what was set. Raises ValueError."""
        defaults = [*DENIED, *((f"{one}", why) for one, why in (own or {}).items())]
        return cls(
            (
                *(Rule(network=parse(one), allows=False, why=why, is_default=True) for one, why in defaults),
                *(Rule(network=parse(one), allows=False, why="denied by --deny-networks") for one in deny),
                *(Rule(network=parse(one), allows=True) for one in allow),
            )
        )

    def refusal(self, address: str) -> str:
        """Why waits are not connected to an address; empty where they may be."""
        return next(filter(None, map(self._refusal, meant(address))), "")

    def _refusal(self, address: Address) -> str:
        matching = [one for one in self.rules if one.network.version == address.version and address in one.network]
        if not matching:
            return ""
        first = max(matching, key=lambda one: one.weight)
        return "" if first.allows else first.why


def parse(text: str) -> Network:
    """A network as people write it, or an address. Raises ValueError."""
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError as error:
        raise ValueError(f"network {text!r}: write an address, or a network such as 10.0.0.0/8") from error


def meant(address: str) -> list[Address]:
    """An address, and the one of IPv4 that it stands for where it does. Raises ValueError."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv4Address):
        return [found]
    embedded = [found.ipv4_mapped, found.sixtofour, *(found.teredo or ())]
    if found in _NAT64:
        embedded.append(IPv4Address(int(found) & 0xFFFFFFFF))
    if int(found) >> 32 == 0 and int(found) > 1:
        embedded.append(IPv4Address(int(found)))
    return [found, *(one for one in embedded if one is not None)]


def own(environ: Mapping[str, str]) -> dict[str, str]:
    """The addresses of this pod, its node, and of the Services that Kubernetes names to a pod: Torpor's and its own."""
    found: dict[str, str] = {}
    for name, value in environ.items():
        if name.endswith("_SERVICE_HOST"):
            found.update(_listed(value, "a Service of the control plane or of Torpor"))
    found.update(_listed(environ.get("HOST_IPS", ""), "the triggerer's node"))
    found.update(_listed(environ.get("POD_IPS", ""), "the triggerer itself"))
    return found


def _listed(text: str, what: str) -> dict[str, str]:
    found = {}
    for one in text.replace(",", " ").split():
        try:
            found[str(ip_address(one))] = what
        except ValueError:  # a headless Service has none
            continue
    return found
