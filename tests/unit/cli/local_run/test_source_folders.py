"""The code of `source` in a local run."""

from pathlib import Path

from torpor_cli.local_run import folders

SPEC = {"source": {"configMap": "etl"}, "tasks": [{"name": "a"}, {"name": "b", "source": {"configMap": "other"}}]}


def folder(beside: Path, name: str) -> None:
    (beside / name).mkdir()
    (beside / name / "load.py").write_text("def load(): ...", encoding="utf-8")
    (beside / name / "notes.bin").write_bytes(b"\xff")


def test_a_folder_beside_the_file_is_the_config_map_of_its_name(tmp_path: Path) -> None:
    folder(tmp_path, "etl")
    folder(tmp_path, "other")
    config_maps = folders.config_maps(SPEC, [], tmp_path)
    assert [document["metadata"]["name"] for document in config_maps] == ["etl", "other"]
    assert config_maps[0]["data"] == {"load.py": "def load(): ..."}


def test_a_config_map_of_the_file_wins_and_a_missing_folder_is_none(tmp_path: Path) -> None:
    folder(tmp_path, "etl")
    own = {"kind": "ConfigMap", "metadata": {"name": "etl"}, "data": {"load.py": "x"}}
    assert folders.config_maps(SPEC, [own], tmp_path) == []


def test_a_key_that_leads_out_of_the_folder_is_named() -> None:
    maps = [{"kind": "ConfigMap", "metadata": {"name": "etl"}, "data": {"../load.py": ""}}]
    (problem,) = folders.source_problems(maps)
    assert problem.startswith("ConfigMap etl is invalid: data[../load.py]: a valid config key must consist of")


def test_one_task_gets_the_binary_files_of_a_config_map(tmp_path: Path) -> None:
    own = {"kind": "ConfigMap", "metadata": {"name": "etl"}, "data": {"a.py": "x"}, "binaryData": {"b": "/w=="}}
    assert folders.source_of_task(SPEC, "a", [own], tmp_path / "beside", tmp_path) == tmp_path
    assert (tmp_path / "a.py").read_text() == "x"
    assert (tmp_path / "b").read_bytes() == b"\xff"
