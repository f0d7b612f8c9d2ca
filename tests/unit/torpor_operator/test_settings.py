"""Settings come from flags, else from the environment, else from defaults; the constructor takes arguments alone."""

import pytest
from torpor_operator.settings import Settings


def test_a_flag_overrides_the_environment_and_that_the_default() -> None:
    environ = {"POD_NAMESPACE": "torpor", "POD_NAME": "operator-0"}
    settings = Settings.parse(["--identity", "mine", "--no-deferrable", "--resync=5"], environ)
    assert (settings.namespace, settings.identity, settings.deferrable, settings.resync) == (
        "torpor",
        "mine",
        False,
        5.0,
    )
    assert Settings.parse([], {}).namespace == "torpor-system"


def test_the_image_of_the_runtime_comes_from_the_manifest() -> None:
    assert Settings.parse([], {"RUNTIME_IMAGE": "registry.example.org/torpor-runtime:1"}).runtime_image.endswith(":1")
    assert Settings.parse(["--runtime-image", "own:2"], {"RUNTIME_IMAGE": "other:1"}).runtime_image == "own:2"


def test_a_boolean_flag_has_a_negative_form() -> None:
    assert not Settings.parse(["--no-task-read-only-root"], {}).task_read_only_root
    assert Settings.parse(["--task-read-only-root"], {}).task_read_only_root


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "many"], "--batch: Input should be a valid integer"),
        (["--hang", "0"], "--hang: Input should be greater than or equal to 1"),
        (["--hang-cpu", "-1"], "--hang-cpu: Input should be greater than or equal to 0"),
        (["--node-grace", "soon"], "--node-grace: Input should be a valid number"),
        (
            ["--runtime-injection", "sidecar"],
            "--runtime-injection: Input should be 'auto', 'image-volume' or 'init-container'",
        ),
        (["--unknown"], "unrecognized arguments: --unknown"),
    ],
)
def test_an_invalid_flag_ends_the_process_with_a_usage_message(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        Settings.parse(arguments, {})
    assert message in capsys.readouterr().err


def test_the_constructor_reads_neither_flags_nor_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESPACE", "from-the-environment")
    monkeypatch.setenv("BATCH", "1")
    assert Settings().namespace == "torpor-system"
    assert Settings().batch == 500
