"""The chart in a registry: packaged, pushed, and installed from there."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
from torpor_chart import chart
from torpor_chart.chart import ChartImages
from torpor_dev.offline import golang

from tests.support.chart import helm
from tests.support.ports import free_port

_DIGEST = f"sha256:{'b' * 64}"
_LIMIT = 60.0


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    """The address of a registry on loopback."""
    port = free_port()
    words: list[str | Path] = [golang.build(golang.CRANE), "registry", "serve", "--address", f"127.0.0.1:{port}"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _await(f"http://127.0.0.1:{port}/v2/")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def _await(url: str) -> None:
    deadline = time.monotonic() + _LIMIT
    while True:
        try:
            urllib3.request("GET", url, retries=False, timeout=_LIMIT)
        except urllib3.exceptions.HTTPError:
            assert time.monotonic() < deadline, url
            time.sleep(0.1)
        else:
            return


def test_a_chart_is_pushed_and_rendered_from_a_registry(registry: str, tmp_path: Path) -> None:
    images = ChartImages(
        torpor=f"registry.example.org/team/torpor:1.0@{_DIGEST}",
        runtime=f"registry.example.org/team/torpor-runtime:1.0@{_DIGEST}",
    )
    chart.write(tmp_path / "torpor", "1.0", images)
    packaged = helm.run("package", tmp_path / "torpor", "--destination", tmp_path)
    assert packaged.returncode == 0, packaged.stderr
    pushed = helm.run("push", tmp_path / "torpor-1.0.0.tgz", f"oci://{registry}/charts", "--plain-http")
    assert pushed.returncode == 0, pushed.stderr
    place = (f"oci://{registry}/charts/torpor", "--version", "1.0.0", "--plain-http", "--kube-version", "1.35")
    rendered = helm.run("template", "torpor", *place, "--namespace", "torpor-system")
    assert rendered.returncode == 0, rendered.stderr
    for image in (images.torpor, images.runtime):
        assert f'"{image}"' in rendered.stdout
    assert 'app.kubernetes.io/version: "1.0"' in rendered.stdout
