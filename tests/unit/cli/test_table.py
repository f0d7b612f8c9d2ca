from torpor_cli import table


def test_columns_fit_their_longest_cell_and_empty_cells_are_dashes() -> None:
    shown = list(table.lines(["NAME", "STATE", "AGE"], [["ingest-7", "Running", ""], ["a\nb", "", "3s"]]))
    assert shown == ["NAME       STATE     AGE", "ingest-7   Running   -", "a\\nb       -         3s"]


def test_only_states_have_colours() -> None:
    head, row = table.lines(["NAME", "STATE"], [["Failed", "Failed"]], coloured=True)
    assert head == "NAME     STATE"
    assert row == "Failed   \x1b[31mFailed\x1b[0m"


def test_a_cell_without_a_width_is_not_padded() -> None:
    assert table.line(("ok", "pools", "pool default"), (8, 11), gap=" ") == "ok       pools       pool default"
