"""What people do to Schedules, their sources and runs, and absences of the controllers that are longer than the grace.

Each act finds its object at its time.
"""

import random
from functools import partial
from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import Object, collection
from torpor_wire import constants, names
from torpor_wire.state import TERMINAL

from tests.simulation.actors.sources import Logs
from tests.simulation.checks import schedule_state
from tests.simulation.process import EPOCH
from tests.simulation.scenarios import random_schedules
from tests.simulation.scenarios.random_workflows import NAMESPACE

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

_ACTS = (
    "suspend",
    "suspend",
    "suspend",
    "suspend",
    "policies",
    "cron",
    "remove source",
    "delete source",
    "delete schedule",
    "run",
    "occupy",
    "occupy",
    "delete run",
    "absence",
    "absence",
    "no triggerers",
    "broken log",
)
_AWAY = (12.0, 25.0)
"""Seconds of an absence: longer than the grace of a tick."""
_GROWTH = 35.0
"""Seconds within which logs grow."""


def arrange(simulation: "Simulation") -> None:
    """Create the Schedules of a simulation, let the logs grow, and draw the acts."""
    rng = random.Random(f"schedules of {simulation.seed}")
    Logs.reset()
    for number in range(rng.choice((1, 1, 2))):
        body = random_schedules.schedule(rng, f"sch-{number}")
        simulation.expected += 1
        simulation.person.call_later(rng.choice((0.0, 1.0, 4.0)), partial(_apply, simulation, body))
        for source in body["spec"]["sources"]:
            if source.get("trigger", {}).get("class") == "log":
                _grow(simulation, rng, source["trigger"]["kwargs"]["log"])
    for _ in range(rng.choice((0, 1, 2, 3, 4))):
        moment = rng.uniform(1.0, simulation.fault_profile.until - 1.0)
        simulation.person.call_later(moment, partial(_act, simulation, rng, rng.choice(_ACTS)))


def calm(simulation: "Simulation") -> None:
    """The end of all faults: most suspended Schedules are resumed."""
    rng = random.Random(f"calm of {simulation.seed}")
    Logs.broken_until.clear()
    for schedule in _schedules(simulation):
        if schedule["spec"].get("suspend") and rng.random() < 0.8:
            _edit(simulation, schedule, {"suspend": False})


def _apply(simulation: "Simulation", body: Object) -> None:
    simulation.note(f"a person applies {body['metadata']['name']}: {body['spec']}")
    simulation.server.act(simulation.person, lambda: simulation.fake.objects.create(SCHEDULES, NAMESPACE, body))
    simulation.expected -= 1


def _grow(simulation: "Simulation", rng: random.Random, log: str) -> None:
    def grow() -> None:
        Logs.length[log] += 1

    for _ in range(rng.choice((1, 3, 6, 10))):
        simulation.person.call_later(rng.uniform(0.0, _GROWTH) * rng.choice((1.0, 0.3)), grow)


def _act(simulation: "Simulation", rng: random.Random, what: str) -> None:
    """One act, if its object is there."""
    if what in {"absence", "no triggerers", "broken log"}:
        _leave(simulation, rng, what)
    elif what == "delete source":
        _delete_source(simulation, rng)
    elif what == "delete run":
        runs = [run for run in simulation.fake.history.of_kind(collection(WORKFLOWS)) if "runOf" in run["spec"]]
        if runs:
            _delete(simulation, rng.choice(runs), WORKFLOWS)
    elif schedules := _schedules(simulation):
        _change(simulation, rng, what, rng.choice(schedules))


def _change(simulation: "Simulation", rng: random.Random, what: str, schedule: Object) -> None:
    sources = schedule["spec"]["sources"]
    match what:
        case "suspend":
            _edit(simulation, schedule, {"suspend": True})
            name = schedule["metadata"]["name"]
            simulation.person.call_later(rng.choice((3.0, 9.0, 18.0)), _resume, simulation, name)
        case "policies":
            _edit(simulation, schedule, random_schedules.policies(rng))
        case "cron" if any("cron" in source for source in sources):
            new = random_schedules.cron(rng)
            _edit(
                simulation,
                schedule,
                {"sources": [{"name": source["name"]} | new if "cron" in source else source for source in sources]},
            )
        case "remove source" if len(sources) > 1 and "allOf" not in schedule["spec"]:
            _edit(simulation, schedule, {"sources": sources[:-1]})
        case "occupy" if any("cron" in source for source in sources):
            _occupy(simulation, schedule)
        case "delete schedule":
            _delete(simulation, schedule, SCHEDULES)
        case "run":
            annotation = {constants.RUN_NOW: f"now {rng.random()}"}
            simulation.note(f"a person starts a run of {schedule['metadata']['name']}")
            address = simulation.fake.objects.address(SCHEDULES, *_key(schedule))
            simulation.server.act(
                simulation.person,
                lambda: simulation.fake.objects.edit(address, {"metadata": {"annotations": annotation}}),
            )


def _occupy(simulation: "Simulation", schedule: Object) -> None:
    """Create a Workflow with the name of the run of the next tick: its event starts no run."""
    source = next(entry for entry in schedule["spec"]["sources"] if "cron" in entry)
    now = EPOCH + simulation.loop.time()
    tick = next((moment for moment in schedule_state.ticks(source) if moment > now + 1.0), None)
    if tick is None or source["name"] in schedule["spec"].get("allOf", ()):
        return
    meta = schedule["metadata"]
    name = names.run(meta["name"], names.tick_key(meta["uid"], source["name"], tick))
    if simulation.fake.get(WORKFLOWS, meta["namespace"], name) is not None:
        return
    spec = {"image": "image:1", "tasks": schedule["spec"]["workflow"]["tasks"]}
    simulation.note(f"a person creates {name} before its tick")
    body = {"metadata": {"name": name, "namespace": meta["namespace"]}, "spec": spec}
    simulation.schedules.occupy(schedule, tick)
    simulation.server.act(simulation.person, lambda: simulation.fake.objects.create(WORKFLOWS, meta["namespace"], body))


def seize_event(simulation: "Simulation", schedule: str) -> None:
    """Suspend or edit a Schedule just as one of its sources has fired."""
    body = next((body for body in _schedules(simulation) if body["metadata"]["name"] == schedule), None)
    if body is not None:
        _change(simulation, simulation.rng, simulation.rng.choice(("suspend", "suspend", "cron")), body)


def _resume(simulation: "Simulation", name: str) -> None:
    body = next((schedule for schedule in _schedules(simulation) if schedule["metadata"]["name"] == name), None)
    if body is not None and body["spec"].get("suspend"):
        _edit(simulation, body, {"suspend": False})


def _leave(simulation: "Simulation", rng: random.Random, what: str) -> None:
    if what == "broken log":
        for log in Logs.length:
            Logs.broken_until[log] = simulation.loop.time() + rng.choice((2.0, 8.0))
        return
    kind = "operator" if what == "absence" else "triggerer"
    away = rng.choice(_AWAY)
    for process in [process for _, process in sorted(simulation.controllers.items()) if process.kind == kind]:
        simulation.crash(process, away=away)


def _delete_source(simulation: "Simulation", rng: random.Random) -> None:
    runs = simulation.fake.history.of_kind(collection(TASKRUNS))
    sources = [run for run in runs if "schedule" in run["spec"] and run["status"]["state"] not in TERMINAL]
    if sources:
        _delete(simulation, rng.choice(sources), TASKRUNS)


def _delete(simulation: "Simulation", item: Object, resource: object) -> None:
    simulation.note(f"a person deletes {item['kind']} {item['metadata']['name']}")
    address = simulation.fake.objects.address(resource, *_key(item))  # type: ignore[arg-type]
    simulation.server.act(simulation.person, lambda: simulation.fake.objects.delete(address, {}))


def _edit(simulation: "Simulation", schedule: Object, spec: Object) -> None:
    """As `kubectl patch` does, with the generation that a change of the spec counts."""
    simulation.note(f"a person edits {schedule['metadata']['name']}: {spec}")
    address = simulation.fake.objects.address(SCHEDULES, *_key(schedule))
    counted = {"metadata": {"generation": schedule["metadata"]["generation"] + 1}}
    simulation.server.act(simulation.person, lambda: simulation.fake.objects.edit(address, {"spec": spec} | counted))


def _schedules(simulation: "Simulation") -> list[Object]:
    bodies = simulation.fake.history.of_kind(collection(SCHEDULES))
    return [body for body in bodies if "deletionTimestamp" not in body["metadata"]]


def _key(item: Object) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]
