"""The examples in examples/from-argo and examples/from-tekton do in `torpor run` what they say."""

import json
import sys
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from torpor_cli.__main__ import main
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_local import folder, journal

from tests.e2e.examples import from_argo, from_tekton, translation
from tests.e2e.examples.translation import ROOT, Expectation

FOLDERS = {"from-argo": from_argo, "from-tekton": from_tekton}
EXAMPLES: Mapping[str, Expectation] = {
    f"{folder}/{name}.yaml": expected for folder, module in FOLDERS.items() for name, expected in module.LOCAL.items()
}


class StatusPage(BaseHTTPRequestHandler):
    """Answers each request with the state ok."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"state": "ok"}')

    def log_message(self, *_: object) -> None:
        """Write nothing into the output of the run."""


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """A server on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), StatusPage) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", EXAMPLES)
def test_an_example_shows_its_outcome(  # noqa: PLR0913, PLR0917 - what a run needs
    path: str, image: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    expected = EXAMPLES[path]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text(translation.manifest(path, image))

    code = main(
        [
            "run",
            "run.yaml",
            "--skip-time",
            "-o",
            "json",
            "--folder",
            "run",
            *(option.replace("{url}", url) for option in expected.options),
        ]
    )
    sys.stdout.flush()

    out, err = capfd.readouterr()
    assert code == (0 if expected.state == "Succeeded" else 3), err
    shown = json.loads(out)
    saved = journal.read(tmp_path / "run" / folder.JOURNAL)
    assert saved is not None
    (workflow,) = saved.of_kind(WORKFLOWS.kind)
    observed = translation.observed(workflow, shown["results"])
    assert observed in [translation.named(tasks, shown["run"]) for tasks in (expected.tasks, *expected.others)]
    attempts = translation.attempts(saved.of_kind(TASKRUNS.kind))
    assert attempts | dict(expected.attempts) == attempts


def test_each_example_has_a_test() -> None:
    files = {
        str(path.relative_to(ROOT / "examples"))
        for name in FOLDERS
        for path in (ROOT / "examples" / name).glob("*.yaml")
    }
    on_a_cluster = {f"{each}/{name}.yaml" for each, module in FOLDERS.items() for name in module.CLUSTER}
    schedules = {f"from-argo/{name}.yaml" for name in from_argo.SCHEDULES}
    assert files == EXAMPLES.keys() | on_a_cluster | schedules
