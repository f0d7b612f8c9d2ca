"""Which objects wait in quarantine, and for how long."""

from itertools import pairwise

import pytest
from torpor_operator.quarantine.entries import MAX_ENTRIES, Entries
from torpor_operator.quarantine.object_ref import ObjectRef

NOW = 1_800_000_000.0


def workflow(name: str, namespace: str = "team") -> ObjectRef:
    return ObjectRef("Workflow", namespace, name, f"uid-{namespace}-{name}")


def test_an_object_waits_longer_after_each_end_and_an_hour_at_most() -> None:
    entries, delays = Entries(), []
    for _ in range(8):
        entries = entries.with_death(workflow("bad"), NOW)
        hold = entries.hold(workflow("bad"), NOW)
        assert hold is not None
        delays.append(hold.until - NOW)
    assert delays[:4] == [10.0, 40.0, 160.0, 640.0]
    assert delays[-1] == 3600.0
    assert all(earlier <= later for earlier, later in pairwise(delays))


def test_an_object_is_free_when_its_time_has_come() -> None:
    entries = Entries().with_death(workflow("bad"), NOW)
    assert entries.hold(workflow("bad"), NOW + 9.9) is not None
    assert entries.hold(workflow("bad"), NOW + 10.0) is None


def test_other_objects_do_not_wait() -> None:
    entries = Entries().with_death(workflow("bad"), NOW)
    created_again = workflow("bad")._replace(uid="another")
    for other in (
        workflow("good"),
        workflow("bad", "neighbour"),
        created_again,
        workflow("bad")._replace(reading=True),
    ):
        assert entries.hold(other, NOW) is None


def test_three_objects_hold_back_their_namespace_and_no_other() -> None:
    entries = Entries()
    for number in range(3):
        assert entries.hold(workflow("good"), NOW) is None
        entries = entries.with_death(workflow(f"bad-{number}"), NOW)
    hold = entries.hold(workflow("good"), NOW)
    assert hold is not None
    assert (hold.until, hold.namespace_objects) == (NOW + 10.0, 3)
    assert entries.hold(workflow("good", "neighbour"), NOW) is None
    longer = entries.with_death(workflow("bad-3"), NOW).hold(workflow("good"), NOW)
    assert longer is not None
    assert longer.until == NOW + 40.0


def test_a_clock_that_was_set_back_holds_nothing_for_ever() -> None:
    entries = Entries().with_death(workflow("bad"), NOW)
    assert entries.hold(workflow("bad"), NOW - 86_400) is None


def test_entries_survive_as_text() -> None:
    entries = (
        Entries().with_death(workflow("bad"), NOW).with_death(workflow("bad"), NOW + 1).with_death(workflow("b"), NOW)
    )
    assert Entries.from_text(entries.to_text()) == entries


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "{}",
        "7",
        "[[]]",
        '[["Workflow"]]',
        '[[["Workflow","n","x","u",false],0,1]]',
        "[" * 100_000,
        "[[1,2,3]]",
    ],
)
def test_a_text_that_is_not_ours_holds_nothing(text: str) -> None:
    assert not list(Entries.from_text(text))


def test_only_the_newest_entries_are_kept() -> None:
    entries = Entries()
    for number in range(MAX_ENTRIES + 5):
        entries = entries.with_death(workflow(f"bad-{number}"), NOW + number)
    assert len(list(entries)) == MAX_ENTRIES
    assert workflow("bad-0") not in entries.by_ref
    assert len(entries.to_text()) < 32_768


def test_the_later_entry_of_two_processes_counts() -> None:
    first = Entries().with_death(workflow("bad"), NOW)
    second = first.with_death(workflow("bad"), NOW + 20)
    for merged in (first.merged(second, NOW + 21), second.merged(first, NOW + 21)):
        assert merged == second


def test_an_entry_is_forgotten_after_a_day() -> None:
    entries = Entries().with_death(workflow("bad"), NOW)
    assert not list(entries.merged((), NOW + 86_401))
    assert list(entries.merged((), NOW + 86_399))
