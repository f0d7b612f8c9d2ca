"""The sensor of examples/sensors defers to a trigger, or waits in its pod."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from sensors.key import KeySensor
from sensors.store import Store
from torpor import testing


@contextmanager
def store(after: float) -> Iterator[str]:
    """A store whose keys come to be after so many seconds; gives the url of one."""
    with Store(0, time.monotonic() + after) as serving:
        thread = Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}/a"
        serving.shutdown()
        thread.join()


def test_the_sensor_defers_to_a_trigger_for_the_same_url() -> None:
    with store(after=60) as url:
        result = testing.run(KeySensor, {"url": url, "poke_interval": 10, "timeout": "1h"}, events=[{"status": 200}])
    (wait,) = result.deferrals
    assert (wait.class_name, wait.kwargs, wait.timeout) == ("http", {"url": url, "interval": 10}, 3600)
    assert result.result == url


def test_the_sensor_waits_in_its_pod_unless_it_is_deferrable() -> None:
    with store(after=0.05) as url:
        result = testing.run(KeySensor, {"url": url, "poke_interval": 0.02, "deferrable": False})
    assert (result.result, result.deferrals) == (url, ())


def test_the_sensor_does_not_defer_if_the_key_exists() -> None:
    with store(after=0) as url:
        assert testing.run(KeySensor, {"url": url}).deferrals == ()
