"""A command that a cause suggests is one that `torpor` takes, and that a shell passes on as it is meant."""

import shlex

import click
import pytest
from torpor_cli.app import app
from torpor_operator.controller import namespaces
from torpor_triggerer.secrets import reader
from torpor_triggerer.secrets.reader import SecretAccount
from torpor_views.causes import commands
from torpor_views.model import RunView

from tests.unit.views.objects import NOW

RUN = RunView.parse({"metadata": {"name": "etl", "namespace": "data"}, "spec": {}}, now=NOW)
SUGGESTED = [
    commands.torpor("why", RUN),
    commands.torpor("why", RUN, "load/0.1"),
    commands.torpor("get", RUN),
    commands.torpor("get", RUN, "", "-w"),
    commands.torpor("resume", RUN),
    commands.submit(RUN),
    commands.torpor("result", RUN, "load"),
    commands.torpor("approve", RUN, "sign_off/1"),
    commands.torpor("logs", RUN, "load/3"),
    commands.torpor("logs", RUN, "load/3", "-f"),
    commands.torpor("logs", RUN, "load/3", "--failed"),
    commands.torpor("logs", RUN, "load/3", "--attempt", "2"),
    commands.retry(RUN),
    commands.retry(RUN, "--failed"),
    commands.retry(RUN, "load", "load/3"),
    "torpor doctor",
    "torpor lint FILE",
]


@pytest.mark.parametrize("line", SUGGESTED)
def test_torpor_takes_the_command(line: str) -> None:
    program, verb, *words = shlex.split(line)
    command = app.get_command(click.Context(app), verb)
    assert (program, command is not None) == ("torpor", True)
    assert command is not None
    parent = click.Context(app, info_name="torpor", obj=None)
    parser = command.make_parser(click.Context(command, parent=parent))
    _, rest, _ = parser.parse_args(list(words))
    assert rest == []


def test_names_are_quoted_for_a_shell_and_their_control_characters_are_text() -> None:
    hostile = RunView.parse({"metadata": {"name": "a; rm -rf /\x1b", "namespace": "x y"}, "spec": {}}, now=NOW)
    line = commands.torpor("get", hostile)
    assert "\x1b" not in line
    assert shlex.split(line) == ["torpor", "get", "a; rm -rf /\\x1b", "-n", "x y"]


SECRET = reader.commands(SecretAccount("data", "torpor-task"), "token")
NAMESPACE = namespaces.not_ready_message("data", "torpor-system")
NODE = "pod p is Pending without a node since 10:00: kubectl -n data describe pod p"


@pytest.mark.parametrize(
    ("message", "number", "rest"),
    [
        (f"the ServiceAccount may not read it.{SECRET}", 2, "the ServiceAccount may not read it. To allow it"),
        (NAMESPACE, 5, NAMESPACE[: NAMESPACE.index(": kubectl")]),
        (NODE, 1, "pod p is Pending without a node since 10:00"),
    ],
)
def test_the_commands_that_torpor_writes_into_messages_are_suggested(message: str, number: int, rest: str) -> None:
    suggested = commands.within(message, "data")
    assert suggested.count("kubectl ") == number == len(suggested.split("; "))
    assert all(part in message for part in suggested.split("; "))
    assert commands.without_command(message) == rest


@pytest.mark.parametrize(
    "message",
    [
        "kubectl delete namespace data",
        "kubectl -n data create rolebinding x --clusterrole=cluster-admin --serviceaccount=data:evil",
        "kubectl -n kube-system create role read-a --verb=get --resource=secrets --resource-name=a",
        "kubectl -n data describe pod ... and more",
        "kubectl -n data describe pod p ... cut",
        "no command here",
    ],
)
def test_other_commands_of_a_message_are_not_suggested(message: str) -> None:
    """The code of a task may write any message."""
    assert commands.within(message, "data") == ""


def test_a_suggested_command_ends_before_what_a_shell_would_run() -> None:
    assert commands.within("kubectl -n data describe pod p; rm -rf /", "data") == "kubectl -n data describe pod p"
    assert commands.within("kubectl -n data describe pod p$(rm)", "data") == "kubectl -n data describe pod p"
