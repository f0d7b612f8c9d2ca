"""Layers and layouts are the same for the same files, and a registry can read them."""

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

from torpor_release import image_layer
from torpor_release.image_layout import ImageLayout, PlatformImage, pull_sizes

EPOCH = 1_795_659_160


def folder(path: Path, *, mtime: int) -> Path:
    """A folder with a program, a link and an empty folder, written at some time."""
    (path / "usr/bin").mkdir(parents=True)
    (path / "empty").mkdir()
    program = path / "usr/bin/su"
    program.write_bytes(b"program")
    program.chmod(0o4755)
    (path / "bin").symlink_to("usr/bin")
    os.utime(program, (mtime, mtime))
    return path


def members(layer: image_layer.ImageLayer) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layer.content))) as tar:
        return {info.name: info for info in tar}


def test_a_layer_does_not_depend_on_time_and_place(tmp_path: Path) -> None:
    one = image_layer.build(folder(tmp_path / "one", mtime=1), EPOCH)
    two = image_layer.build(folder(tmp_path / "elsewhere/two", mtime=2), EPOCH)
    assert (one.digest, one.diff_id) == (two.digest, two.diff_id)
    assert image_layer.build(tmp_path / "one", EPOCH + 1).digest != one.digest


def test_files_of_a_layer_belong_to_root_and_have_no_privileges(tmp_path: Path) -> None:
    found = members(image_layer.build(folder(tmp_path / "one", mtime=1), EPOCH))
    assert list(found) == ["bin", "empty", "usr", "usr/bin", "usr/bin/su"]
    assert {(info.uid, info.gid, info.uname, info.mtime) for info in found.values()} == {(0, 0, "", EPOCH)}
    assert (found["usr/bin/su"].mode, found["bin"].linkname) == (0o755, "usr/bin")


def test_a_layout_names_everything_by_its_content(tmp_path: Path) -> None:
    layer = image_layer.build(folder(tmp_path / "files", mtime=1), EPOCH)
    images = [
        PlatformImage(architecture=each, layers=[layer], config={"User": "65532:65532"}) for each in ("amd64", "arm64")
    ]
    digest = ImageLayout(tmp_path / "layout").add(images, {"org.opencontainers.image.version": "1"}, EPOCH)
    blobs = list((tmp_path / "layout/blobs/sha256").iterdir())
    assert all(hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name for blob in blobs)
    index = json.loads((tmp_path / "layout/blobs/sha256" / digest.removeprefix("sha256:")).read_text())
    assert [each["platform"]["architecture"] for each in index["manifests"]] == ["amd64", "arm64"]
    assert json.loads((tmp_path / "layout/index.json").read_text())["manifests"][0]["digest"] == digest
    assert ImageLayout(tmp_path / "again").add(images, {"org.opencontainers.image.version": "1"}, EPOCH) == digest


def test_the_size_to_pull_is_that_of_layers_and_configuration(tmp_path: Path) -> None:
    first = image_layer.build(folder(tmp_path / "first", mtime=1), EPOCH)
    (tmp_path / "second").mkdir()
    (tmp_path / "second/data").write_bytes(os.urandom(10_000))
    second = image_layer.build(tmp_path / "second", EPOCH)
    small = PlatformImage(architecture="amd64", layers=[first], config={})
    large = PlatformImage(architecture="arm64", layers=[first, second], config={})
    ImageLayout(tmp_path / "layout").add([small, large], {}, EPOCH)
    sizes = pull_sizes(tmp_path / "layout")
    configs = [path.stat().st_size for path in (tmp_path / "layout/blobs/sha256").iterdir() if _is_config(path)]
    assert sum(sizes.values()) == 2 * len(first.content) + len(second.content) + sum(configs)
    assert sizes["arm64"] - sizes["amd64"] >= len(second.content)


def _is_config(blob: Path) -> bool:
    return b'"rootfs"' in blob.read_bytes()
