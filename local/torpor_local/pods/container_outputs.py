"""Stores the outputs of a container that has ended on this machine: copies each from it, then stores it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torpor_local.pods import process, program, task_files, wrapper
from torpor_local.pods.task_files import FileError, LocalTaskFiles
from torpor_local.pods.wrapper import WrappedProgram

_COPY_SECONDS = 600.0
_NO_OUTPUT = 66
"""Exit code of `torpor-tool` for an output that the program did not write."""


async def report(  # noqa: PLR0913 - what ended, and where its files are
    files: LocalTaskFiles, pod: Mapping[str, Any], message: str, wrapped: WrappedProgram, *, tool: str, archive: Path
) -> tuple[int, str]:
    """Store the outputs, and return the exit code and the message that a wrapper in the pod would write."""
    try:
        stored = await _store(files, pod, tool, archive)
    except FileError as error:
        return _NO_OUTPUT, str(error)
    return 0, wrapper.with_files(pod, message, stored, has_result=wrapped.has_result)


async def _store(files: LocalTaskFiles, pod: Mapping[str, Any], tool: str, archive: Path) -> list[dict[str, Any]]:
    for output in files.outputs:
        target = files.output(output["name"])
        try:
            await process.run(program.copying(pod, tool, output["path"], str(target)), _COPY_SECONDS)
        except OSError as error:  # also a timeout
            raise FileError(f"{output['path']} cannot be copied from the container: {error}") from error
        if target.is_symlink():  # it would name a file of this machine
            raise FileError(
                f"the output {output['name']}: {output['path']} is a link, which a local run does not follow"
            )
        if not target.exists() and not output.get("optional"):
            raise FileError(f"the program did not write the output {output['name']}: {output['path']} does not exist")
    return await asyncio.to_thread(task_files.store, files, pod, archive)
