"""A triggerer's process asks an address once for all the TaskRuns that wait for something of it."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from tests.integration.triggerer.scrape import total

pytestmark = pytest.mark.integration

MANY = 60


class Jobs(BaseHTTPRequestHandler):
    """A list of jobs, and of the moments at which it was asked for."""

    states: ClassVar[dict[str, str]]
    asked: ClassVar[list[float]]

    def do_GET(self) -> None:
        type(self).asked.append(time.monotonic())
        body = json.dumps(type(self).states).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def jobs() -> Iterator[tuple[str, type[Jobs]]]:
    """Its address, and the class that has its state."""

    class Own(Jobs):
        states: ClassVar[dict[str, str]] = {str(number): "busy" for number in range(MANY)}
        asked: ClassVar[list[float]] = []

    with ThreadingHTTPServer(("127.0.0.1", 0), Own) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/jobs", Own
        server.shutdown()
        thread.join()


def test_many_taskruns_that_look_at_one_address_are_one_request_an_interval(
    empty_pool: Any, jobs: tuple[str, type[Jobs]]
) -> None:
    pool, (url, service) = empty_pool, jobs
    replica = pool.start()
    names = [
        pool.deferred("http", {"url": url, "interval": "1s", "body_condition": f"response.json['{number}'] == 'done'"})
        for number in range(MANY)
    ]
    # Each wait that joins is polled soon; afterwards all share one request an interval.
    pool.until(lambda: total(replica, "torpor_triggers_running") == MANY, "all wait")
    pool.until(lambda: len(service.asked) > 2 and service.asked[-1] - service.asked[-2] > 0.8, "all waits have joined")
    before, began = len(service.asked), time.monotonic()
    time.sleep(5)
    assert 0 < len(service.asked) - before <= (time.monotonic() - began) / 0.9 + 1

    service.states["7"] = service.states["59"] = "done"
    assert pool.ends(names[7]).state == pool.ends(names[59]).state == "Scheduled"
    pool.cancel(names[0])
    assert pool.ends(names[0]).state == "Cancelled"
    assert sum(pool.waits(name) for name in names) == MANY - 3
