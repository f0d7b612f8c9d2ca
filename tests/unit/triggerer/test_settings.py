"""What can be set, and the allow-list of trigger classes."""

import pytest
from torpor_triggerer.network.addresses import Addresses, own
from torpor_triggerer.settings import Settings
from torpor_triggerer.usercode import registry


def test_arguments_come_before_the_environment_and_that_before_defaults() -> None:
    environ = {"POD_NAME": "Pod_1", "POD_NAMESPACE": "ns", "TORPOR_POOL": "from-environ"}
    settings = Settings.parse(["--pool", "p", "--lease-duration", "30"], environ)
    assert (settings.pool, settings.namespace, settings.identity) == ("p", "ns", "pod-1")
    assert (settings.lease_duration, settings.lease_renew, settings.capacity) == (30, 10.0, 20_000)
    assert Settings.parse([], environ).pool == "from-environ"


def test_trigger_classes_are_named_or_given_by_their_class_path() -> None:
    environ = {"TORPOR_TRIGGERS": "file=pkg.mod:File, airflow.triggers.file.FileTrigger"}
    settings = Settings.parse(["--trigger", "a=b:C"], environ)
    assert settings.triggers == {
        "file": "pkg.mod:File",
        "airflow.triggers.file.FileTrigger": "airflow.triggers.file:FileTrigger",
        "a": "b:C",
    }


@pytest.mark.parametrize("text", ["", "a", "a=b", "a=b:c d", "=b:C", "a=b:C()", "a=../b:C"])
def test_an_entry_that_is_none_is_refused_with_how_to_write_it(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        Settings.parse(["--trigger", text], {})
    assert "write name=module:Class" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--pool", "Pool"], "--pool: String should match pattern"),
        (["--pool", "p" * 64], "--pool: String should match pattern"),
        (["--capacity", "0"], "--capacity: Input should be greater than or equal to 1"),
        (["--event-rate", "-1"], "--event-rate: Input should be greater than or equal to 0"),
        (["--progress-rate", "inf"], "--progress-rate: Input should be a finite number"),
        (["--max-request-timeout", "0.5"], "--max-request-timeout: Input should be greater than or equal to 1"),
        (["--max-request-timeout", "101"], "--max-request-timeout: Input should be less than or equal to 100"),
        (["--max-request-timeout", "nan"], "--max-request-timeout: Input should be"),
        (["--answer-limit", "10"], "--answer-limit: Input should be greater than or equal to 65536"),
        (["--allow-networks", "everything"], "write an address, or a network such as 10.0.0.0/8"),
        (["--deny-networks", "10.0.0.0/8,10.1"], "network '10.1'"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        Settings.parse(arguments, {})
    assert words in capsys.readouterr().err


def test_networks_come_from_settings_and_the_pods_own_are_denied() -> None:
    environ = {"TORPOR_DENY_NETWORKS": "10.0.0.0/8", "KUBERNETES_SERVICE_HOST": "172.20.0.1"}
    given = Settings.parse(["--allow-networks", "10.2.0.0/16, 127.0.0.1"], environ)
    addresses = Addresses.build(allow=given.allow_networks, deny=given.deny_networks, own=own(environ))
    assert [addresses.refusal(address) == "" for address in ("10.2.0.1", "127.0.0.1", "10.3.0.1", "172.20.0.1")] == [
        True,
        True,
        False,
        False,
    ]


def test_what_cannot_be_imported_fails_only_who_asks_for_it() -> None:
    classes = registry.load({"gone": "no.such.module:Class", "odd": "json:dumps", "own": "torpor.triggers:Time"})
    gone, odd = classes.find("gone"), classes.find("odd")
    assert isinstance(gone, registry.Unknown)
    assert "no.such.module:Class: ModuleNotFoundError" in gone.message
    assert isinstance(odd, registry.Unknown)
    assert "not a trigger" in odd.message
    assert not isinstance(classes.find("own"), registry.Unknown)
    assert not isinstance(classes.find("http"), registry.Unknown)


def test_a_name_on_a_taskrun_is_never_imported() -> None:
    unknown = registry.load({}).find("antigravity:fly_away")
    assert isinstance(unknown, registry.Unknown)
    assert "duration, " in unknown.message


def test_folders_are_absolute_paths_and_none_are_open_by_default() -> None:
    assert Settings.parse([], {}).folder == ()
    assert Settings.parse(["--folder", "/data/", "--folder", "/in/{namespace}"], {}).folder == (
        "/data",
        "/in/{namespace}",
    )
    assert Settings.parse(["--folder", "/data"], {"TORPOR_FOLDERS": "/a, /b"}).folder == ("/a", "/b", "/data")


@pytest.mark.parametrize("text", ["data", "/data/../etc", "."])
def test_a_folder_that_is_no_absolute_path_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        Settings.parse(["--folder", text], {})
    assert "write an absolute path" in capsys.readouterr().err
