import os

import pytest
from torpor_cli.render import terminal
from torpor_cli.render.terminal import Screen


def test_a_line_takes_as_many_rows_as_the_terminal_breaks_it_into() -> None:
    assert [terminal.rows(text, 10) for text in ("", "x" * 10, "x" * 11, "\x1b[31m" + "x" * 10 + "\x1b[0m")] == [
        1,
        1,
        2,
        1,
    ]


def test_lines_that_do_not_fit_are_counted() -> None:
    assert terminal.fitting(["a", "b"], 80, 24) == ["a", "b"]
    assert terminal.fitting([str(number) for number in range(100)], 80, 5) == ["0", "1", "2", "... 97 more lines"]
    assert terminal.fitting(["x" * 200, "b", "c"], 80, 4) == ["... 3 more lines"]


def test_a_drawing_replaces_the_rows_of_the_former_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((10, 24)))
    drawn = Screen()
    drawn.draw(["a", "x" * 15], whole=False)
    assert capsys.readouterr().out == "\r\x1b[0Ja\n" + "x" * 15 + "\n"
    drawn.draw(["a", "x" * 15], whole=False)
    assert capsys.readouterr().out == ""
    drawn.draw(["b"], whole=True)
    assert capsys.readouterr().out == "\x1b[3A\r\x1b[0Jb\n"
