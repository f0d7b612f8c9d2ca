"""What people do to Schedules, their sources and runs, and absences of the controllers that are longer than the grace.

Each act finds its object at its time.
"""

import random
from functools import partial
from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import Object, collection
from torpor_operator.scheduled_runs import event as events
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


def arrange(world: "Simulation") -> None:
    """Create the Schedules of a world, let the logs grow, and draw the acts."""
    rng = random.Random(f"schedules of {world.seed}")
    Logs.reset()
    for number in range(rng.choice((1, 1, 2))):
        body = random_schedules.schedule(rng, f"sch-{number}")
        world.expected += 1
        world.person.call_later(rng.choice((0.0, 1.0, 4.0)), partial(_apply, world, body))
        for source in body["spec"]["sources"]:
            if source.get("trigger", {}).get("class") == "log":
                _grow(world, rng, source["trigger"]["kwargs"]["log"])
    for _ in range(rng.choice((0, 1, 2, 3, 4))):
        moment = rng.uniform(1.0, world.fault_profile.until - 1.0)
        world.person.call_later(moment, partial(_act, world, rng, rng.choice(_ACTS)))


def calm(world: "Simulation") -> None:
    """The end of all faults: most suspended Schedules are resumed."""
    rng = random.Random(f"calm of {world.seed}")
    Logs.broken_until.clear()
    for schedule in _schedules(world):
        if schedule["spec"].get("suspend") and rng.random() < 0.8:
            _edit(world, schedule, {"suspend": False})


def _apply(world: "Simulation", body: Object) -> None:
    world.note(f"a person applies {body['metadata']['name']}: {body['spec']}")
    world.server.act(world.person, lambda: world.fake.objects.create(SCHEDULES, NAMESPACE, body))
    world.expected -= 1


def _grow(world: "Simulation", rng: random.Random, log: str) -> None:
    def grow() -> None:
        Logs.length[log] += 1

    for _ in range(rng.choice((1, 3, 6, 10))):
        world.person.call_later(rng.uniform(0.0, _GROWTH) * rng.choice((1.0, 0.3)), grow)


def _act(world: "Simulation", rng: random.Random, what: str) -> None:
    """One act, if its object is there."""
    if what in {"absence", "no triggerers", "broken log"}:
        _leave(world, rng, what)
    elif what == "delete source":
        _delete_source(world, rng)
    elif what == "delete run":
        runs = [run for run in world.fake.history.of_kind(collection(WORKFLOWS)) if "runOf" in run["spec"]]
        if runs:
            _delete(world, rng.choice(runs), WORKFLOWS)
    elif schedules := _schedules(world):
        _change(world, rng, what, rng.choice(schedules))


def _change(world: "Simulation", rng: random.Random, what: str, schedule: Object) -> None:
    sources = schedule["spec"]["sources"]
    match what:
        case "suspend":
            _edit(world, schedule, {"suspend": True})
            name = schedule["metadata"]["name"]
            world.person.call_later(rng.choice((3.0, 9.0, 18.0)), _resume, world, name)
        case "policies":
            _edit(world, schedule, random_schedules.policies(rng))
        case "cron" if any("cron" in source for source in sources):
            new = random_schedules.cron(rng)
            _edit(
                world,
                schedule,
                {"sources": [{"name": source["name"]} | new if "cron" in source else source for source in sources]},
            )
        case "remove source" if len(sources) > 1 and "allOf" not in schedule["spec"]:
            _edit(world, schedule, {"sources": sources[:-1]})
        case "occupy" if any("cron" in source for source in sources):
            _occupy(world, schedule)
        case "delete schedule":
            _delete(world, schedule, SCHEDULES)
        case "run":
            annotation = {constants.RUN_NOW: f"now {rng.random()}"}
            world.note(f"a person starts a run of {schedule['metadata']['name']}")
            address = world.fake.objects.address(SCHEDULES, *_key(schedule))
            world.server.act(
                world.person, lambda: world.fake.objects.edit(address, {"metadata": {"annotations": annotation}})
            )


def _occupy(world: "Simulation", schedule: Object) -> None:
    """Create a Workflow with the name of the run of the next tick: its event starts no run."""
    source = next(entry for entry in schedule["spec"]["sources"] if "cron" in entry)
    now = EPOCH + world.loop.time()
    tick = next((moment for moment in schedule_state.ticks(source) if moment > now + 1.0), None)
    if tick is None or source["name"] in schedule["spec"].get("allOf", ()):
        return
    meta = schedule["metadata"]
    name = names.run(meta["name"], events.tick_key(meta["uid"], source["name"], tick))
    if world.fake.get(WORKFLOWS, meta["namespace"], name) is not None:
        return
    spec = {"image": "image:1", "tasks": schedule["spec"]["workflow"]["tasks"]}
    world.note(f"a person creates {name} before its tick")
    body = {"metadata": {"name": name, "namespace": meta["namespace"]}, "spec": spec}
    world.schedules.occupy(schedule, tick)
    world.server.act(world.person, lambda: world.fake.objects.create(WORKFLOWS, meta["namespace"], body))


def seize_event(world: "Simulation", schedule: str) -> None:
    """Suspend or edit a Schedule just as one of its sources has fired."""
    body = next((body for body in _schedules(world) if body["metadata"]["name"] == schedule), None)
    if body is not None:
        _change(world, world.rng, world.rng.choice(("suspend", "suspend", "cron")), body)


def _resume(world: "Simulation", name: str) -> None:
    body = next((schedule for schedule in _schedules(world) if schedule["metadata"]["name"] == name), None)
    if body is not None and body["spec"].get("suspend"):
        _edit(world, body, {"suspend": False})


def _leave(world: "Simulation", rng: random.Random, what: str) -> None:
    if what == "broken log":
        for log in Logs.length:
            Logs.broken_until[log] = world.loop.time() + rng.choice((2.0, 8.0))
        return
    kind = "operator" if what == "absence" else "triggerer"
    away = rng.choice(_AWAY)
    for process in [process for _, process in sorted(world.controllers.items()) if process.kind == kind]:
        world.crash(process, away=away)


def _delete_source(world: "Simulation", rng: random.Random) -> None:
    runs = world.fake.history.of_kind(collection(TASKRUNS))
    sources = [run for run in runs if "schedule" in run["spec"] and run["status"]["state"] not in TERMINAL]
    if sources:
        _delete(world, rng.choice(sources), TASKRUNS)


def _delete(world: "Simulation", item: Object, resource: object) -> None:
    world.note(f"a person deletes {item['kind']} {item['metadata']['name']}")
    address = world.fake.objects.address(resource, *_key(item))  # type: ignore[arg-type]
    world.server.act(world.person, lambda: world.fake.objects.delete(address, {}))


def _edit(world: "Simulation", schedule: Object, spec: Object) -> None:
    """As `kubectl patch` does, with the generation that a change of the spec counts."""
    world.note(f"a person edits {schedule['metadata']['name']}: {spec}")
    address = world.fake.objects.address(SCHEDULES, *_key(schedule))
    counted = {"metadata": {"generation": schedule["metadata"]["generation"] + 1}}
    world.server.act(world.person, lambda: world.fake.objects.edit(address, {"spec": spec} | counted))


def _schedules(world: "Simulation") -> list[Object]:
    bodies = world.fake.history.of_kind(collection(SCHEDULES))
    return [body for body in bodies if "deletionTimestamp" not in body["metadata"]]


def _key(item: Object) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]
