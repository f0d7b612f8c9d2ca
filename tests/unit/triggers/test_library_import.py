"""Libraries that take long to import are imported by a thread, never by the event loop that all triggers share."""

from types import ModuleType

import pytest
from torpor.triggers.support import object_urls, sql_engine


@pytest.mark.parametrize("support", [sql_engine, object_urls], ids=lambda module: module.__name__)
def test_a_library_counts_as_loaded_once_its_import_has_ended(
    support: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    support.load()
    support.load.cache_clear()
    during_import: list[bool] = []
    monkeypatch.setattr(support, "import_module", lambda _: during_import.append(support.is_loaded()))
    support.load()
    assert during_import
    assert not any(during_import)
    assert support.is_loaded()
