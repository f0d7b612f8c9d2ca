"""The runtime folder, assembled once for these tests."""

from pathlib import Path

import pytest

from tests.support.runtime import folder as runtime_folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with bytecode of the interpreter that runs the tests."""
    return runtime_folder.assemble(tmp_path_factory.mktemp("runtime") / "torpor")
