"""Reports what a container of this machine wrote, as its wrapper does in a pod: outputs, and the result.

Files are copied from the ended container. A result that is too large for the termination message goes to the archive.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torpor.runtime import result_encoding
from torpor.runtime.archive import upload
from torpor.runtime.outcome import Success, TaskFailure

from torpor_local.pods import process, program, task_files, wrapper
from torpor_local.pods.files import PodFiles
from torpor_local.pods.task_files import FileError, LocalTaskFiles
from torpor_local.pods.wrapper import ResultError, WrappedProgram

_COPY_SECONDS = 600.0
_NO_OUTPUT = 66
"""Exit code of `torpor-tool` for an output that the program did not write."""
_MESSAGE_MAX = 500

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedContainer:
    """A container that ended with code 0, and its files. `output` is its standard output if that is its result."""

    pod: Object
    wrapped: WrappedProgram
    files: PodFiles
    task: LocalTaskFiles
    tool: str
    archive: Path
    output: bytes = b""

    async def report(self, message: str) -> tuple[int, str]:
        """Store outputs and result; return the exit code and the message that a wrapper in the pod would write.

        `message` is what the program wrote itself.
        """
        try:
            stored = await self._store_files() if self.task.outputs else []
        except FileError as error:
            return _NO_OUTPUT, str(error)
        if not self.wrapped.has_result:
            return 0, wrapper.document(self.pod, "message", message, stored)
        try:
            content, name, most = await self._result()
            return 0, await asyncio.to_thread(self._document, content, name, most, stored)
        except ResultError as error:
            return 0, wrapper.failure(self.pod, str(error))

    async def _result(self) -> tuple[bytes, str, int]:
        """Return the content of the result, its name for messages, and the most bytes of it."""
        path = self.wrapped.file
        if path is None:
            return self.output, "the standard output", wrapper.OUTPUT_MAX
        try:
            await process.run(program.copying(self.pod, self.tool, path, str(self.files.result)), _COPY_SECONDS)
            return self.files.read_result(wrapper.FILE_MAX + 1), path, wrapper.FILE_MAX
        except OSError as error:
            raise ResultError(f"the program wrote no result: cannot read {path} ({type(error).__name__})") from error

    def _document(self, content: bytes, name: str, most: int, stored: Sequence[Object]) -> str:
        """Return the outcome document: with the result, or with its description in the archive. Raises ResultError."""
        value = wrapper.value(content, name, most)
        message = wrapper.document(self.pod, "result", value, stored)
        if wrapper.fits(message):
            return message
        body = result_encoding.encode_result(value, 0)
        if isinstance(body, str):  # only the files of the task exceed the message
            return wrapper.failure(self.pod, "the descriptions of the outputs do not fit into the termination message")
        match upload.kept(task_files.archive_of(self.pod, self.archive), body, task_files.retry_policy()):
            case Success(stored=about):
                return wrapper.archived(self.pod, about or {}, stored)
            case TaskFailure(message=problem, retryable=retryable):
                return wrapper.failure(self.pod, problem[:_MESSAGE_MAX], retryable=retryable)
            case other:
                raise ResultError(f"the result cannot be stored: {other}")

    async def _store_files(self) -> list[dict[str, Any]]:
        for output in self.task.outputs:
            target = self.task.output(output["name"])
            try:
                await process.run(program.copying(self.pod, self.tool, output["path"], str(target)), _COPY_SECONDS)
            except OSError as error:  # also a timeout
                raise FileError(f"{output['path']} cannot be copied from the container: {error}") from error
            if target.is_symlink():  # it would name a file of this machine
                raise FileError(
                    f"the output {output['name']}: {output['path']} is a link, which a local run does not follow"
                )
            if not target.exists() and not output.get("optional"):
                raise FileError(
                    f"the program did not write the output {output['name']}: {output['path']} does not exist"
                )
        return await asyncio.to_thread(task_files.store, self.task, self.pod, self.archive)
