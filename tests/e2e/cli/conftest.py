"""torpor as a user runs it: a process for each command, and one namespace for all tests of a process."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_demo.install import prepare
from torpor_demo.kubectl import Kubectl

_TORPOR = Path(sys.executable).parent / "torpor"
_LIMIT_S = 400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A command that ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Runs torpor in a namespace. `user`: whom it impersonates."""

    kubeconfig: Path
    namespace: str
    user: str = ""

    def command(self, *arguments: str) -> list[str]:
        """The words of a command."""
        who = ["--as", self.user] if self.user else []
        return [str(_TORPOR), "--kubeconfig", str(self.kubeconfig), "-n", self.namespace, *who, *arguments]

    def run(self, *arguments: str, stdin: str = "") -> Ended:
        """Run a command to its end."""
        ended = subprocess.run(
            self.command(*arguments), input=stdin, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
        return Ended(code=ended.returncode, out=ended.stdout, err=ended.stderr)

    def ok(self, *arguments: str, stdin: str = "") -> str:
        """Run a command that succeeds; return its standard output."""
        ended = self.run(*arguments, stdin=stdin)
        assert ended.code == 0, ended
        return ended.out

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command."""
        return subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds: other tests stop the operator that leads for a while."""
        ends = time.monotonic() + _LIMIT_S
        while not holds():
            assert time.monotonic() < ends, f"waited in vain for {what}"
            time.sleep(0.5)

    def submit(self, *tasks: dict[str, Any], **spec: Any) -> str:
        """Submit a run of these tasks; return its name."""
        return self.ok("submit", "-", stdin=manifest(*tasks, **spec)).strip()

    def as_user(self, user: str) -> "Terminal":
        """The same place as another user."""
        return replace(self, user=user)


def manifest(*tasks: dict[str, Any], name: str = "", **spec: Any) -> str:
    """The YAML of a Workflow. Its tasks need no pods, so a run takes a second."""
    metadata = {"name": name} if name else {"generateName": "cli-"}
    body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "metadata": metadata}
    return yaml.safe_dump({**body, "spec": {**spec, "tasks": list(tasks)}})


def pause(name: str = "pause", length: str = "100ms", **fields: Any) -> dict[str, Any]:
    """A task that succeeds after a moment."""
    return {"name": name, "trigger": {"class": "duration", "kwargs": {"duration": length}}, **fields}


def broken(name: str = "broken", **fields: Any) -> dict[str, Any]:
    """A task that fails after a moment."""
    return pause(name, failWhen="true", **fields)


def ask(name: str = "ask", question: str = "Deploy?", **fields: Any) -> dict[str, Any]:
    """A task that waits for a person."""
    return {"name": name, "trigger": {"class": "approval", "kwargs": {"question": question}, "timeout": "1h"}, **fields}


@pytest.fixture(scope="module")
def torpor(kubectl: Kubectl) -> Iterator[Terminal]:
    namespace = f"e2e-cli-{uuid.uuid4().hex[:6]}"
    prepare(kubectl, namespace)
    yield Terminal(kubeconfig=Path(os.fspath(kubectl.kubeconfig)), namespace=namespace)
    kubectl.run("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")
