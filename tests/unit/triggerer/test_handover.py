"""SIGTERM: the others begin at once, whatever this replica's triggers still have to clean up."""

from tests.unit.triggerer.world import World, world


def owner(made: World) -> str:
    return next(name for name, (_, _, replica) in made._replicas.items() if len(replica._runner))


async def test_the_others_begin_before_the_triggers_of_a_replica_that_stops_have_cleaned_up() -> None:
    async with world() as made:
        made.taskrun("a", kwargs={"does": "waits, cleans up slowly", "name": "a"})
        await made.start("one")
        await made.start("two")
        await made.pass_time(20)
        task, stopping, _ = made._replicas[owner(made)]
        before = len(made.called("a"))
        stopping.set()
        await made.pass_time(1)
        during, stopped = made.called("a")[before:], task.done()
        await made.pass_time(30)
        made.edit("a", cancel="2023-11-14T22:13:20Z")
        await made.pass_time(30)
        assert (during, stopped) == (["cleanup", "run"], False)
        assert task.done()
        assert made.stands("a") == ("Cancelled", "Cancelled")
