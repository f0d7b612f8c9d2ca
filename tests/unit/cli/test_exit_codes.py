import pytest
from torpor_cli.runs import exit_codes


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["Succeeded"], 0),
        (["Succeeded", "Failed", "Cancelled"], 3),
        (["Succeeded", "Cancelled"], 4),
        (["Deleted", "Failed"], 1),
        ([], 0),
    ],
)
def test_the_exit_code_is_that_of_the_worst_run(words: list[str], code: int) -> None:
    assert exit_codes.of_runs(words) == code
