"""A live triggerer: a class that takes over logging changes neither whose a line is nor what is blacked out of it."""

from pathlib import Path
from typing import Any

import pytest
from torpor_wire.secret_ref import SecretRef

from tests.integration.triggerer.test_hidden import SECRET, add_component, let_read, make_secret

pytestmark = pytest.mark.integration

_WAYS = ("early", "late", "diverted", "root", "print", "stderr", "dunder", "buffer")
_CLASS = "takes_over=tests.integration.attacks.logging_takeover:TakesOver"


@pytest.mark.parametrize("again", [False, True], ids=["when it is imported", "when it is made"])
def test_a_class_that_replaces_logging_hides_no_origin_and_no_secret_leaks(
    empty_pool: Any, tmp_path: Path, again: bool
) -> None:
    pool = empty_pool
    make_secret(pool)
    add_component(pool)
    let_read(pool, "torpor-task")
    replica = pool.start(more=["--trigger", _CLASS])
    go = tmp_path / "go"
    reference = SecretRef("db", "password").written()
    name = pool.deferred("takes_over", {"given": reference, "path": str(go), "again": again})
    pool.until(lambda: "changed the process's logging; restored" in replica.text(), "it is put back")
    if again:
        pool.until(lambda: replica.text().count("logging; restored") > 1, "it is put back again")
    go.touch()
    assert pool.ends(name).event == '"said"'
    text = replica.text()
    assert SECRET not in text
    for way in _WAYS:
        lines = [line for line in text.splitlines() if f"{way} says" in line]
        assert len(lines) == 1, (way, lines)
        assert f"[{pool.namespace}/{name} a1 s0] {way} says ***" in lines[0]
    assert "taken over" not in text.replace("taken.over", "")
