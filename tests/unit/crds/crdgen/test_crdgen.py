"""The committed CRDs are what the models say, and say what the design asks of them."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_crds.crdgen import __main__ as crd

_FOLDER = Path(__file__).resolve().parents[4] / "crds"


def load(plural: str) -> dict[str, Any]:
    body: dict[str, Any] = yaml.safe_load((_FOLDER / f"{plural}.torpor.dev.yaml").read_text())
    return body


def test_the_committed_crds_are_generated() -> None:
    for name, text in crd.documents().items():
        assert (_FOLDER / name).read_text() == text, f"{name}: run `make generate`"


def test_check_names_what_differs_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["crd", "--check", "--folder", str(tmp_path)])
    assert crd.main() == 1
    assert "workflows.torpor.dev.yaml is outdated" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_what_was_written_passes_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in ([], ["--check"]):
        monkeypatch.setattr(sys, "argv", ["crd", "--folder", str(tmp_path), *arguments])
        assert crd.main() == 0


@pytest.mark.parametrize("plural", ["workflows", "taskruns"])
def test_kinds_are_listed_by_category_but_not_among_all(plural: str) -> None:
    assert load(plural)["spec"]["names"]["categories"] == ["torpor"]


def test_short_names_are_neither_argos_nor_tektons() -> None:
    argo = {"wf", "wfs", "cwf", "cronwf", "cwft", "clusterwftmpl", "wftmpl", "wfeb", "wfts", "wftr", "wfat", "wfgc"}
    tekton = {"tr", "trs", "pr", "prs", "cr", "crs"}
    ours = {short for plural in ("workflows", "taskruns") for short in load(plural)["spec"]["names"]["shortNames"]}
    assert ours == {"twf", "ttr"}
    assert not ours & (argo | tekton)


def test_a_new_taskrun_is_scheduled_by_default() -> None:
    schema = load("taskruns")["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    counters = {"attempt": 1, "segment": 0, "launch": 0}
    assert schema["properties"]["status"]["default"] == {"state": "Scheduled", "history": []} | counters


@pytest.mark.parametrize("plural", ["taskruns", "workflows"])
def test_kinds_with_many_writes_have_no_rules_that_every_write_evaluates(plural: str) -> None:
    assert "x-kubernetes-validations" not in str(load(plural))
    assert "x-kubernetes-validations" in str(load("schedules"))


@pytest.mark.parametrize("plural", ["workflowtemplates", "clusterworkflowtemplates", "schedules"])
def test_the_workflow_in_another_kind_has_no_rules_either(plural: str) -> None:
    spec = load(plural)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert "x-kubernetes-validations" not in str(spec["properties"]["workflow"])
