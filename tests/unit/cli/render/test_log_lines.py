"""Prefixes of log lines."""

from torpor_cli.logs.printing import Prefixes, colour_of


def test_prefixes_have_the_width_of_the_longest_so_far() -> None:
    prefixes = Prefixes()
    prefixes.widen(["load[3] a1 s0"])
    assert prefixes.text("list a1 s0", "list") == "list a1 s0    | "
    assert prefixes.text("load[1000] a1 s0", "load") == "load[1000] a1 s0 | "
    assert prefixes.text("list a1 s0", "list") == "list a1 s0       | "


def test_a_colour_is_for_a_task_and_only_if_requested() -> None:
    coloured = Prefixes(colour=True)
    colours = {coloured.text(f"load[{number}] a1 s0", "load").split("m")[0] for number in range(9)}
    assert colours == {f"\x1b[{colour_of('load')}"}
    assert coloured.text("load a1 s0", "load").endswith("| \x1b[0m")
    assert "\x1b" not in Prefixes().text("load a1 s0", "load")


def test_escape_sequences_of_a_name_are_text() -> None:
    assert "\x1b[2J" not in Prefixes(colour=True).text("a\x1b[2J", "a\x1b[2J")
