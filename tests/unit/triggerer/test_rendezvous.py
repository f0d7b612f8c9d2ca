"""The laws of ownership."""

from hypothesis import given, settings
from hypothesis import strategies as st
from torpor_triggerer import rendezvous

MEMBERS = st.sets(st.text("abcdefghij-0123456789", min_size=1, max_size=20), min_size=1, max_size=6)


@settings(deadline=None)
@given(MEMBERS)
def test_every_shard_has_exactly_one_owner(members: set[str]) -> None:
    shards = [shard for member in members for shard in rendezvous.owned(member, members)]
    assert sorted(shards) == list(range(256))


@settings(deadline=None)
@given(MEMBERS, st.text("xyz", min_size=1, max_size=5))
def test_a_member_that_comes_or_goes_changes_only_what_it_gains_or_loses(members: set[str], changed: str) -> None:
    """From the smaller to the larger set is a member that came, the other way one that went."""
    larger = members | {changed}
    before = {shard: rendezvous.owner(shard, members) for shard in range(256)}
    after = {shard: rendezvous.owner(shard, larger) for shard in range(256)}
    moved = {shard for shard in range(256) if before[shard] != after[shard]}
    assert {after[shard] for shard in moved} <= {changed}


@settings(deadline=None)
@given(st.integers(2, 20), st.integers(0, 10_000))
def test_a_change_moves_about_one_in_n(count: int, salt: int) -> None:
    members = {f"torpor-triggerer-default-{salt}-{number}" for number in range(count)}
    share = 256 / count
    moved = len(rendezvous.owned(f"torpor-triggerer-default-{salt}-0", members))
    spread = 5.0 * (share * (1 - 1 / count)) ** 0.5
    assert share - spread - 1 <= moved <= share + spread + 1


def test_it_does_not_depend_on_the_order_in_which_members_are_seen() -> None:
    assert rendezvous.owned("a", ["a", "b", "c"]) == rendezvous.owned("a", ["c", "b", "a"])


def test_nobody_owns_anything_where_there_is_nobody() -> None:
    assert rendezvous.owner(7, []) is None
