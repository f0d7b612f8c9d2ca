"""Runs the reference workflow again and again under faults, and judges each run by the faultless one."""

import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from torpor_dev.console import say

from tests.integration.conftest import collection
from tests.integration.controller.objects.builder_account import BuilderAccount
from tests.integration.faults import reference
from tests.integration.faults.disruptions.component_disruptions import kill_after
from tests.integration.faults.disruptions.table import DISRUPTIONS, Disruption
from tests.integration.faults.environment import open_namespace
from tests.integration.faults.installation import ProcessInstallation, has_ended
from tests.integration.faults.proxy_faults import ProxyFault
from tests.integration.faults.report import FaultReport, Round
from tests.integration.faults.scene import DisruptedRun
from tests.support.manifests import manifest

_NONE = Disruption(what="nothing")
_QUIET = 1.5


def await_archive(installation: ProcessInstallation, namespace: str) -> None:
    """Run until a large result is stored: in pods that were created before the operators knew the archive it fails."""
    large = [task for task in reference.TASKS if task["name"] == "large"]
    while True:
        run = installation.submit(namespace, large)
        installation.until(lambda run=run: has_ended(installation.workflow(namespace, run)), f"the end of {run}")  # type: ignore[misc]
        if installation.workflow(namespace, run)["status"]["state"] == "Succeeded":
            return


@dataclass(kw_only=True, eq=False)
class Campaign:
    """`seed` determines which disruptions come, and when. Each run has a namespace of its own.

    `after_round` gets the report so far.
    """

    installation: ProcessInstallation
    seed: str
    report: FaultReport = field(default_factory=FaultReport)
    after_round: Callable[[FaultReport], None] = lambda _: None
    began: float = field(default_factory=time.monotonic)

    def warm_up(self) -> None:
        """Wait until the operators know the archive. The report counts from then on."""
        namespace = open_namespace(self.installation, f"warm-up-{uuid.uuid4().hex[:8]}")
        await_archive(self.installation, namespace)
        self.began = time.monotonic()

    def disrupt(self, name: str, *, number: int = 0) -> Round:
        """Run the reference workflow once under a disruption."""
        disruption = DISRUPTIONS.get(name, _NONE)
        seed = f"{self.seed}/{name}/{number}"
        with self._scene(seed) as scene:
            began = time.monotonic()
            self.installation.disturb(disruption.rates)
            try:
                if disruption.strike is not None:
                    disruption.strike(scene)
                scene.finish()
            finally:
                self.installation.disturb({})
            return self._judge(scene, name, seed, began)

    def kill_at_each_write(self, kind: str, *, first: int = 1, step: int = 1, last: int = 1000) -> int:
        """Kill the leader, or a triggerer, after the n-th write of a run, for each n. Returns the highest n."""
        for number in range(first, last + 1, step):
            self.await_quiet()
            with self._scene(f"{self.seed}/{kind}/{number}") as scene:
                began = time.monotonic()
                killed = self._arm(kind, number)
                scene.finish()
                happened = any(each.is_set() for each in killed)
                for proxy in self.installation.proxies:
                    proxy.on_write = None
                name = f"{kind} killed after a write" if happened else "none"
                self._judge(scene, name, f"{self.seed}/{kind}/{number}", began)
            if not happened:
                return number - step
        return last

    def await_quiet(self) -> None:
        """Wait until an operator leads, and no component has written for a moment."""
        self.installation.await_leader()
        seen, since = -1, time.monotonic()

        def is_quiet() -> bool:
            nonlocal seen, since
            writes = sum(proxy.writes for proxy in self.installation.proxies)
            if writes != seen:
                seen, since = writes, time.monotonic()
            return time.monotonic() - since >= _QUIET

        self.installation.until(is_quiet, "no component writes")

    def count(self) -> FaultReport:
        """Return the report with what the proxies and the processes did until now."""
        struck = sum((proxy.struck for proxy in self.installation.proxies), Counter[ProxyFault]())
        self.report.requests = Counter({str(fault): count for fault, count in struck.items()})
        components = self.installation.components.items()
        self.report.starts = Counter({name: component.starts - 1 for name, component in components})
        self.report.seconds = time.monotonic() - self.began
        return self.report

    def _arm(self, kind: str, number: int) -> list[threading.Event]:
        components = [self.installation.await_leader()] if kind == "operator" else self.installation.named(kind)
        return [kill_after(component, number) for component in components]

    @contextmanager
    def _scene(self, seed: str) -> Iterator[DisruptedRun]:
        installation = self.installation
        namespace = open_namespace(installation, f"faults-{uuid.uuid4().hex[:8]}")
        installation.await_leader()
        installation.until(installation.archive_is_published, "the archive is published")
        BuilderAccount(server=installation.server, namespace=namespace, name=reference.BUILDER).create()
        template = manifest("WorkflowTemplate", "child", reference.CHILD_TEMPLATE)
        installation.request("POST", collection("workflowtemplates", namespace), template).expect(201)
        run = installation.submit(namespace, reference.all_tasks(installation.orders.url))
        yield DisruptedRun(
            installation=installation,
            namespace=namespace,
            run=run,
            random=Random(seed),
            expected=reference.FAULTLESS_WITH_ALL,
        )
        installation.request("DELETE", f"/api/v1/namespaces/{namespace}")

    def _judge(self, scene: DisruptedRun, name: str, seed: str, began: float) -> Round:
        lost, repeated = scene.judge()
        seconds = time.monotonic() - began
        judged = Round(disruption=name, seed=seed, seconds=seconds, lost=lost, repeated=repeated)
        self.report.rounds.append(judged)
        self.report.checks += scene.checks
        self.report.taskruns += len(scene.expected.taskruns) + len(scene.expected.children)
        wrong = "" if judged.right else f": lost {lost}, repeated {repeated}"
        say(f"{name}, {seconds:.0f} s{wrong}")
        self.after_round(self.count())
        return judged
