"""`redis`: what it takes, what it stores, and which server it means."""

import json
from typing import Any

import pytest
from torpor.triggers import Redis
from torpor.triggers.support import redis_pool
from torpor.triggers.support.arguments import Revealed
from torpor.triggers.support.redis_pool import RedisDatabase

from tests.support import trigger_services

URL = "redis://cache.example.org:6380/2"
SECRET = {"secretRef": {"name": "cache", "key": "url"}}


def test_only_what_differs_from_the_defaults_is_stored() -> None:
    expected = ("redis", {"url": URL, "list": "jobs"})
    assert Redis(URL, list="jobs").serialize() == expected
    assert Redis(URL, list="jobs", count=1, index=0, interval="5s", after="0").serialize() == expected


@pytest.mark.parametrize(
    "kwargs",
    [
        {"url": SECRET, "list": "jobs", "count": 3, "index": -1, "interval": 1.0},
        {"url": URL, "stream": "events", "after": "1700000000000-3"},
        {"url": URL, "stream": "events", "after": "3", "cursor": "1700000000000-3"},
        {"url": URL, "stream": "events", "cursor": None},
        {"url": URL, "list": "jobs", "cursor": None},
    ],
)
def test_it_reads_back_what_it_wrote(kwargs: dict[str, Any]) -> None:
    name, stored = Redis(**kwargs).serialize()
    assert (name, stored) == ("redis", kwargs)
    assert Redis(**json.loads(json.dumps(stored))).serialize() == (name, stored)


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"url": 7}, TypeError, "url must be text or a secretRef"),
        ({"url": "cache:6379"}, ValueError, "not a URL such as redis://"),
        ({"url": "unix:///run/redis.sock"}, ValueError, "not a URL such as redis://"),
        ({"url": "redis://cache:99999"}, ValueError, "not a URL such as redis://"),
        ({"url": "redis://cache/jobs"}, ValueError, "not a URL such as redis://"),
        ({"url": "redis://cache/0?ssl_ca_certs=/etc/passwd"}, ValueError, "without parameters"),
        ({"url": "redis://:hunter2@cache"}, ValueError, "put the URL in a Secret"),
        ({"url": {"secretRef": {}}}, ValueError, "url: a secretRef must be"),
        ({"list": None}, ValueError, "give either list or stream"),
        ({"stream": "events"}, ValueError, "give either list or stream"),
        ({"list": ""}, ValueError, "list has 0 characters"),
        ({"count": 0}, ValueError, "count is 0"),
        ({"index": 1.5}, TypeError, "index must be an integer"),
        ({"after": "1-1"}, ValueError, "after needs a stream"),
        ({"list": None, "stream": "events", "count": 2}, ValueError, "count and index need a list"),
        ({"list": None, "stream": "events", "after": "$"}, ValueError, "'\\$' would mean another moment"),
        ({"list": None, "stream": "events", "after": 17}, TypeError, "after must be the id"),
        ({"cursor": "1-1"}, ValueError, "cursor needs a stream"),
        ({"list": None, "stream": "events", "cursor": "$"}, ValueError, "cursor is '\\$'"),
        ({"list": None, "stream": "events", "cursor": 17}, TypeError, "cursor must be text or null"),
        ({"interval": 0}, ValueError, "interval is 0 seconds"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_does(kwargs: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        Redis(**{"url": URL, "list": "jobs", **kwargs})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (URL, RedisDatabase("cache.example.org", 6380, 2, "", "", tls=False)),
        ("rediss://joe:a%40b@[::1]", RedisDatabase("::1", 6379, 0, "joe", "a@b", tls=True)),
        ("redis://:pw@cache/", RedisDatabase("cache", 6379, 0, "", "pw", tls=False)),
    ],
)
def test_a_url_is_read_as_its_client_does(url: str, expected: RedisDatabase) -> None:
    assert redis_pool.parse_redis_url(url) == expected


def test_a_password_from_a_secret_binds_and_an_unread_reference_does_not() -> None:
    Redis(Revealed("redis://:hunter2@cache"), list="jobs").bind(trigger_services.services())
    with pytest.raises(TypeError, match="url must be text"):
        Redis(SECRET, list="jobs").bind(trigger_services.services())
