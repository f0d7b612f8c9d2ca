"""Disruptions of components: killed at a write, suspended for longer than a Lease, a wrong clock, no database."""

import asyncio
import signal
import threading
import time
from pathlib import Path

import asyncpg
from torpor_dev import cache
from torpor_dev.offline import debian

from tests.integration.archive.databases import Postgresql
from tests.integration.faults.component import Component
from tests.integration.faults.scene import DisruptedRun

_AWAY = 4.0
_LEASE = 17.0
_TABLES = "SELECT relid::regclass AS name FROM pg_stat_user_tables"
_FULL = f"""
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
  $body$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $body$;
DO $do$ DECLARE each record; BEGIN FOR each IN {_TABLES} LOOP
  EXECUTE format('CREATE TRIGGER full_disk BEFORE INSERT ON %s EXECUTE FUNCTION full_disk()', each.name);
END LOOP; END $do$
"""
_FREE = "DROP FUNCTION full_disk() CASCADE"
_FAKETIME = "usr/lib/*/faketime/libfaketime.so.1"


def kill_after(component: Component, writes: int) -> threading.Event:
    """Kill a component after so many writes from now on, before it gets the response. Returns whether it happened."""
    target, killed = component.proxy.writes + writes, threading.Event()

    def on_write(done: int) -> None:
        if done >= target and not killed.is_set():
            killed.set()
            component.send(signal.SIGKILL)

    component.proxy.on_write = on_write
    return killed


def kill_leader(scene: DisruptedRun) -> None:
    """Kill the leader after a random write."""
    leader = scene.installation.await_leader()
    killed = kill_after(leader, scene.random.randrange(1, 40))
    scene.installation.until(lambda: killed.is_set() or scene.step(), "the leader is killed")
    leader.proxy.on_write = None


def kill_triggerers(scene: DisruptedRun) -> None:
    """Kill each triggerer after one of its next writes."""
    triggerers = scene.installation.named("triggerer")
    killed = [kill_after(triggerer, scene.random.randrange(1, 3)) for triggerer in triggerers]
    scene.installation.until(lambda: any(each.is_set() for each in killed) or scene.step(), "a triggerer is killed")
    for triggerer in triggerers:
        triggerer.proxy.on_write = None


def kill_all(scene: DisruptedRun) -> None:
    """Kill all components in the same moment."""
    scene.reach_any()
    for component in scene.installation.components.values():
        component.send(signal.SIGKILL)


def suspend_leader(scene: DisruptedRun) -> None:
    """Suspend the leader until another leads: then two processes believe that they lead."""
    scene.reach_any()
    leader = scene.installation.await_leader()
    leader.send(signal.SIGSTOP)
    try:
        scene.installation.until(lambda: scene.installation.leader() is not leader, "another leads")
        scene.installation.await_leader()
    finally:
        leader.send(signal.SIGCONT)


def suspend_triggerer(scene: DisruptedRun) -> None:
    """Suspend a triggerer until the other has its waits."""
    scene.reach_any()
    triggerer = scene.random.choice(scene.installation.named("triggerer"))
    triggerer.send(signal.SIGSTOP)
    try:
        _pass_seconds(scene, _LEASE)
    finally:
        triggerer.send(signal.SIGCONT)


def kill_archive(scene: DisruptedRun) -> None:
    """Kill the archive, and keep it away for some seconds."""
    scene.reach_any()
    (archive,) = scene.installation.named("archive")
    archive.held = True
    archive.kill()
    _pass_seconds(scene, _AWAY)
    archive.held = False


def stop_database(scene: DisruptedRun) -> None:
    """Kill the server of the database, and start it again."""
    scene.reach_any()
    scene.installation.database.stop()
    try:
        _pass_seconds(scene, _AWAY)
    finally:
        scene.installation.database.start()


def fill_database(scene: DisruptedRun) -> None:
    """Let PostgreSQL refuse each new row with the error of a full disk, and then take rows again."""
    scene.reach_any()
    database = scene.installation.database
    assert isinstance(database, Postgresql), "SQLite has no error that can be raised from outside"
    asyncio.run(_execute(database.url, _FULL))
    try:
        _pass_seconds(scene, _AWAY)
    finally:
        asyncio.run(_execute(database.url, _FREE))


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def shift_clocks(scene: DisruptedRun) -> None:
    """Restart an operator with a clock that is a minute fast, and a triggerer with one that is a minute slow."""
    library = faketime()
    leader, triggerer = scene.installation.await_leader(), scene.installation.named("triggerer")[0]
    for component, offset in ((leader, "+60s"), (triggerer, "-60s")):
        component.kill()
        libraries = " ".join(filter(None, [component.environment.get("LD_PRELOAD"), str(library)]))
        component.start({"LD_PRELOAD": libraries, "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"})
    scene.finish()
    for component in (leader, triggerer):
        component.kill()


def faketime() -> Path:
    """The library of Debian's libfaketime."""
    folder = debian.unpack(debian.fetch("libfaketime"), cache.folder("debian", "unpacked-faketime"))
    return next(folder.glob(_FAKETIME))


def _pass_seconds(scene: DisruptedRun, seconds: float) -> None:
    end = time.monotonic() + seconds
    scene.installation.until(lambda: (scene.step(), time.monotonic() >= end)[1], "time passes")
