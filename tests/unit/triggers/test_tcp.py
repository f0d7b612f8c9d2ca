"""`tcp`: what it takes and stores."""

from typing import Any

import pytest
from torpor.triggers import Tcp


def test_only_what_differs_from_the_defaults_is_stored() -> None:
    assert Tcp("db", 5432, interval="5s", timeout=5).serialize() == ("tcp", {"host": "db", "port": 5432})


@pytest.mark.parametrize("host", ["db", "db.prod.svc.cluster.local.", "10.0.0.7", "::1", "::", "fe80::1%eth0", "_x.y"])
def test_it_reads_back_what_it_wrote(host: str) -> None:
    name, kwargs = Tcp(host, 1, interval="1m", timeout=1).serialize()
    assert (name, kwargs) == ("tcp", {"host": host, "port": 1, "interval": 60.0, "timeout": 1.0})
    assert Tcp(**kwargs).serialize() == (name, kwargs)


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"host": 7}, TypeError, "host must be text"),
        ({"host": ""}, ValueError, "host has 0 characters"),
        ({"host": "http://db"}, ValueError, "neither a host name nor an address"),
        ({"host": "db port"}, ValueError, "neither a host name nor an address"),
        ({"host": "[::1]"}, ValueError, "neither a host name nor an address"),
        ({"port": "5432"}, TypeError, "port must be an integer"),
        ({"port": 0}, ValueError, "it must be 1 to 65535"),
        ({"port": 65_536}, ValueError, "it must be 1 to 65535"),
        ({"interval": 0}, ValueError, "interval is 0 seconds"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_does(kwargs: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Tcp(**{"host": "db", "port": 5432, **kwargs})
