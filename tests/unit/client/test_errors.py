import pytest
from torpor_client import errors


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("lod", "load"),
        ("inget", "ingest-x7f2k"),
        ("ingest-x7f2", "ingest-x7f2k"),
        ("LOAD", "load"),
        ("bda", "bad"),
        ("quite-different", None),
        ("", None),
    ],
)
def test_the_nearest_name_is_a_similar_one_or_none(name: str, nearest: str | None) -> None:
    assert errors.nearest_name(name, ["load", "ingest-x7f2k", "report", "bad", "bad-5p887"]) == nearest


def test_a_message_names_the_nearest_or_says_what_to_do() -> None:
    assert str(errors.unknown("task", "lod", ["load"])) == "there is no task 'lod'; did you mean load?"
    assert str(errors.unknown("task", "x", ["load"], "the run has load")) == "there is no task 'x'; the run has load"
    assert str(errors.unknown("run", "x", [], where="in namespace a")) == "there is no run 'x' in namespace a"
