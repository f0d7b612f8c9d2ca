"""The certificate of the archive, which a pod reads when it needs the archive."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from torpor.errors import UnreadableError
from torpor.runtime import environment, main
from torpor.runtime.archive import client
from torpor.runtime.http import ApiResponse, UnclearError
from torpor.runtime.status_patch import RetryPolicy
from torpor_wire import constants
from torpor_wire.runtime_variable import RuntimeVariable

if TYPE_CHECKING:
    from torpor.runtime.http import ConnectionTransport

AUTHORITY = "PEM"
VARIABLE = RuntimeVariable(
    "default",
    "run-a-11f13",
    "uid",
    "2026-01-01T00:00:00Z",
    attempt=1,
    archive_url="https://archive:8443",
    archive_namespace="system",
)
PATH = "/api/v1/namespaces/system/configmaps/torpor-archive"


class ScriptedTransport:
    def __init__(self, *answers: ApiResponse | None) -> None:
        self._answers = list(answers)
        self.requests: list[tuple[str, str]] = []

    def __call__(self, method: str, path: str, body: Any = None) -> ApiResponse:
        self.requests.append((method, path))
        answer = self._answers.pop(0)
        if answer is None:
            raise UnclearError("no answer")
        return answer


def read(server: ScriptedTransport) -> str:
    clock = iter(range(1000))
    policy = RetryPolicy(30.0, frozenset({429}), lambda: next(clock), lambda _: None, lambda: 0.5)
    return client.read(server, "system", policy)


def stored(**data: str) -> ApiResponse:
    return ApiResponse(200, {"data": data})


def test_it_is_in_the_config_map_beside_the_operator() -> None:
    server = ScriptedTransport(stored(**{constants.ARCHIVE_CERTIFICATE: "PEM"}))
    assert read(server) == "PEM"
    assert server.requests == [("GET", PATH)]


def test_a_read_without_an_answer_is_repeated() -> None:
    assert (
        read(ScriptedTransport(None, ApiResponse(503, {}), stored(**{constants.ARCHIVE_CERTIFICATE: "PEM"}))) == "PEM"
    )


@pytest.mark.parametrize(
    "answer", [ApiResponse(404, {"message": "not found"}), ApiResponse(403, {"message": "forbidden"}), stored()]
)
def test_what_is_missing_is_named(answer: ApiResponse) -> None:
    with pytest.raises(UnreadableError, match="cannot be read from ConfigMap system/torpor-archive: "):
        read(ScriptedTransport(answer))


def test_a_pod_reads_it_for_as_long_as_it_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    outage = [ApiResponse(401, {"message": "Unauthorized"}), None, ApiResponse(503, {})]
    server = ScriptedTransport(*outage, stored(**{constants.ARCHIVE_CERTIFICATE: AUTHORITY}))
    slept: list[float] = []
    # Not the module `time` itself: other threads of this process sleep, too.
    clock = SimpleNamespace(time=lambda: 0.0, monotonic=lambda: 60.0 * len(slept), sleep=slept.append)
    monkeypatch.setattr(main, "time", clock)
    launched = environment.read({constants.ENV_RUNTIME: VARIABLE.text()}, "nonce", "uid")
    assert main.build_runtime(cast("ConnectionTransport", server)).archive(launched) is not None
    assert len(slept) == len(outage)
