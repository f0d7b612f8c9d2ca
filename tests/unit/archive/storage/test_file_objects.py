"""The parts of an upload become those of a file if they have their sizes, and no URL leads to the parts of a file."""

import asyncio
import uuid
from collections.abc import Mapping

import obstore
import pytest
from obstore.store import MemoryStore
from torpor_archive.errors import RefusedError
from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage.file_objects import PART, FileBucket, FileUpload, object_name, part_sizes

UPLOAD = FileUpload.of_file(NamespaceId(name="ns", uid="uid"), "taskrun", "table", uuid.uuid4().hex)


async def put(store: MemoryStore, sizes: Mapping[int, int]) -> None:
    for number, length in sizes.items():
        await obstore.put_async(store, object_name(UPLOAD.staged, number), bytes(length))


async def listed(store: MemoryStore, prefix: str) -> list[int]:
    return [entry["size"] async for page in obstore.list(store, prefix) for entry in page]


def settle(sizes: Mapping[int, int], size: int, *, parts: int | None = None) -> str:
    """Why the parts, by number, do not become those of a file of a size; empty if they do."""

    async def settled() -> None:
        store = MemoryStore()
        await put(store, sizes)
        whole = part_sizes(size)
        await FileBucket(store).settle(UPLOAD, whole[:parts], is_whole=parts is None)  # type: ignore[arg-type]
        assert sorted(await listed(store, UPLOAD.prefix)) == sorted(whole[:parts])
        assert len(await listed(store, UPLOAD.staged)) == len(sizes) - len(whole[:parts])

    try:
        asyncio.run(settled())
    except RefusedError as error:
        return error.refusal.message
    return ""


@pytest.mark.parametrize("sizes", [{0: PART, 1: 7}, {0: 7}, {}])
def test_an_upload_with_the_parts_of_its_file_is_complete(sizes: Mapping[int, int]) -> None:
    assert not settle(sizes, sum(sizes.values()))


def test_the_first_parts_are_settled_before_the_others() -> None:
    assert not settle({0: PART, 1: PART, 2: 7}, 2 * PART + 7, parts=2)


@pytest.mark.parametrize("sizes", [{0: PART}, {0: 7, 1: PART}, {0: PART, 1: 8}])
def test_an_upload_with_a_missing_or_other_part_is_not(sizes: Mapping[int, int]) -> None:
    assert "upload the missing parts" in settle(sizes, PART + 7)


@pytest.mark.attack
@pytest.mark.parametrize("sizes", [{0: 7, 1: 100}, {0: 7, 31: 1}])
def test_parts_beyond_the_size_of_the_file_are_refused(sizes: Mapping[int, int]) -> None:
    assert "parts that a file of this size does not have" in settle(sizes, 7)


@pytest.mark.attack
@pytest.mark.parametrize("parts", [0, 1, None])
def test_a_part_that_is_too_large_is_refused_with_the_next_request(parts: int | None) -> None:
    assert f"a part has at most {PART}" in settle({0: PART, 1: PART + 1}, 2 * PART, parts=parts)


@pytest.mark.attack
def test_what_arrives_after_the_end_does_not_change_the_file() -> None:
    async def late() -> None:
        store = MemoryStore()
        bucket = FileBucket(store)  # type: ignore[arg-type]
        await put(store, {0: PART, 1: 7})
        for _ in range(2):  # a repeated request succeeds
            await bucket.settle(UPLOAD, part_sizes(PART + 7), is_whole=True)
            assert await listed(store, UPLOAD.staged) == []
        await put(store, {0: 100, 1: PART})
        assert sorted(await listed(store, UPLOAD.prefix)) == [7, PART]
        assert [len(piece) async for piece in bucket.read(UPLOAD.prefix, PART + 7, PART)] == [7]

    asyncio.run(late())
