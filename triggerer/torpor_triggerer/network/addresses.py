"""Decides which addresses waits may reach. Pure.

The author of a wait is not the triggerer: services on loopback, in the same pod or in the control plane trust clients
that can reach them, and the triggerer can. So such addresses are denied by default; the settings decide the rest. The
most specific network wins; for equal ones a setting precedes a default, and a denial precedes a permission.
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
    ("64:ff9b:1::/48", "local-use NAT64, which can lead to any IPv4 address"),
)
_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
"""RFC 6052 and RFC 8215. The second may embed the IPv4 address elsewhere than in the last 32 bits, so it is denied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRule:
    """A rule for a network; `why` is the reason of a denial."""

    network: Network
    allows: bool
    why: str = ""
    is_default: bool = False

    @property
    def weight(self) -> tuple[int, bool, bool]:
        """The sort key: the rule with the greatest weight applies."""
        return self.network.prefixlen, not self.is_default, not self.allows


@dataclass(frozen=True, slots=True)
class Addresses:
    """The rules of a process."""

    rules: tuple[NetworkRule, ...]

    @classmethod
    def build(
        cls, *, allow: Iterable[str] = (), deny: Iterable[str] = (), own: Mapping[str, str] | None = None
    ) -> "Addresses":
        """Combine the defaults, the `own` addresses with their reasons, and the settings. Raises ValueError."""
        defaults = [*DENIED, *((f"{network}", why) for network, why in (own or {}).items())]
        return cls(
            (
                *(
                    NetworkRule(network=parse(network), allows=False, why=why, is_default=True)
                    for network, why in defaults
                ),
                *(
                    NetworkRule(network=parse(network), allows=False, why="denied by --deny-networks")
                    for network in deny
                ),
                *(NetworkRule(network=parse(network), allows=True) for network in allow),
            )
        )

    def refusal(self, address: str) -> str:
        """Return why waits may not reach an address; empty if they may."""
        return next(filter(None, map(self._refusal, equivalents(address))), "")

    def _refusal(self, address: Address) -> str:
        matching = [rule for rule in self.rules if rule.network.version == address.version and address in rule.network]
        if not matching:
            return ""
        first = max(matching, key=lambda rule: rule.weight)
        return "" if first.allows else first.why


def parse(text: str) -> Network:
    """Parse a network or an address. Raises ValueError."""
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError as error:
        raise ValueError(f"network {text!r}: write an address, or a network such as 10.0.0.0/8") from error


def equivalents(address: str) -> list[Address]:
    """Return an address, and the IPv4 addresses that it embeds. Raises ValueError."""
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv4Address):
        return [parsed]
    embedded = [parsed.ipv4_mapped, parsed.sixtofour, *(parsed.teredo or ())]
    if any(parsed in network for network in _NAT64):
        embedded.append(IPv4Address(int(parsed) & 0xFFFFFFFF))
    if int(parsed) >> 32 == 0 and int(parsed) > 1:
        embedded.append(IPv4Address(int(parsed)))
    return [parsed, *(embedded_address for embedded_address in embedded if embedded_address is not None)]


def own(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses of this pod, its node, and the Services of the control plane and of Torpor."""
    reasons: dict[str, str] = {}
    for name, value in environ.items():
        if name.endswith("_SERVICE_HOST"):
            reasons.update(_listed(value, "a Service of the control plane or of Torpor"))
    reasons.update(_listed(environ.get("HOST_IPS", ""), "the triggerer's node"))
    reasons.update(_listed(environ.get("POD_IPS", ""), "the triggerer itself"))
    return reasons


def _listed(text: str, what: str) -> dict[str, str]:
    reasons = {}
    for word in text.replace(",", " ").split():
        try:
            reasons[str(ip_address(word))] = what
        except ValueError:  # a headless Service has none
            continue
    return reasons
