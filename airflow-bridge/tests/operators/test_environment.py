"""The bridge refuses an environment with another minor version of Airflow, before anything of it is used."""

import importlib
from importlib import metadata

import pytest
import torpor_airflow


@pytest.mark.parametrize("installed", ["3.2.9", "4.0.0"])
def test_the_import_fails_beside_another_version_of_airflow(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: installed)
    with pytest.raises(
        ImportError, match=f"needs Airflow 3.3, and this environment has {installed}: install it in one"
    ):
        importlib.reload(torpor_airflow)
