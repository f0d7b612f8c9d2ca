"""The objects of an upload are exactly those of a file of its size."""

import asyncio
from collections.abc import Mapping

import obstore
import pytest
from obstore.store import MemoryStore
from torpor_archive.errors import RefusedError
from torpor_archive.storage.file_objects import PART, FileBucket, object_name

PREFIX = "files/ns/uid/table/upload/"


def check(sizes: Mapping[int, int], size: int) -> str:
    """Why the parts, by number, are not those of a file; empty if they are."""

    async def checked() -> None:
        store = MemoryStore()
        for number, length in sizes.items():
            await obstore.put_async(store, object_name(PREFIX, number), bytes(length))
        await FileBucket(store).check(PREFIX, size)  # type: ignore[arg-type]

    try:
        asyncio.run(checked())
    except RefusedError as error:
        return error.refusal.message
    return ""


@pytest.mark.parametrize("sizes", [{0: PART, 1: 7}, {0: 7}, {}])
def test_an_upload_with_the_parts_of_its_file_is_complete(sizes: Mapping[int, int]) -> None:
    assert not check(sizes, sum(sizes.values()))


@pytest.mark.parametrize("sizes", [{0: PART}, {0: 7, 1: PART}, {0: PART, 1: 8}])
def test_an_upload_with_a_missing_or_other_part_is_not(sizes: Mapping[int, int]) -> None:
    assert "upload the missing parts" in check(sizes, PART + 7)


@pytest.mark.attack
@pytest.mark.parametrize("sizes", [{0: 7, 1: 100}, {0: 7, 31: 1}])
def test_parts_beyond_the_size_of_the_file_are_refused(sizes: Mapping[int, int]) -> None:
    assert "parts that a file of 7 bytes does not have" in check(sizes, 7)
