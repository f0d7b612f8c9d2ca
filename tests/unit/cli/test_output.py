import pytest
from torpor_cli import output


@pytest.mark.parametrize(("terminal", "shown"), [(True, "abc…"), (False, "abcdefgh")])
def test_a_long_text_is_cut_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, terminal: bool, shown: str) -> None:
    monkeypatch.setattr(output, "interactive", lambda: terminal)
    assert output.shortened("abcdefgh", 4) == shown
    assert output.shortened("abcd", 4) == "abcd"


@pytest.mark.parametrize("text", ["n", "y", "1e3", "0o7"])
def test_a_text_of_a_cluster_is_text_for_kubectl(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    output.data({"value": text}, "yaml")
    assert capsys.readouterr().out == f"value: '{text}'\n"
