"""The Lease `torpor-installation` in a namespace: which installation of Torpor serves it (ADR 0067).

A confined installation holds it in each of its namespaces. Operators and triggerers of other installations leave such a
namespace alone. The Lease does not protect writes, which are compare-and-sets.
"""

from dataclasses import replace

from torpor_wire import constants

from torpor_kubernetes.client import lease
from torpor_kubernetes.client.lease import ObservedLease

INTERVAL = 20.0
"""Seconds between two rounds of reading and renewing."""
DURATION = 60
SELECTOR = f"metadata.name={constants.INSTALLATION_LEASE}"


def other_holder(observed: ObservedLease, home: str, now: float) -> str:
    """Return the other installation that serves a namespace; empty if there is none.

    `home` is the namespace of the own installation, `now` monotonic. The Lease counts for a minute at most. A longer
    duration does not keep a namespace.
    """
    seen = replace(observed, lease=replace(observed.lease, duration=min(observed.lease.duration, DURATION)))
    return "" if lease.may_acquire(seen, home, now) else observed.lease.holder
