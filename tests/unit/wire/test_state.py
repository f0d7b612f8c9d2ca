"""The table of states and edges: what may follow what, and who may write it."""

from torpor_wire.state import EDGES, MARK_EDGES, POD_EDGES, TERMINAL, TRIGGERER_EDGES, State, terminal


def test_a_pod_writes_only_edges_that_there_are() -> None:
    assert POD_EDGES <= EDGES


def test_a_triggerer_writes_only_edges_that_there_are_and_only_out_of_a_wait() -> None:
    assert TRIGGERER_EDGES <= EDGES
    assert {before for before, _ in TRIGGERER_EDGES} == {State.DEFERRED}


def test_no_edge_is_both_a_pods_and_a_triggerers() -> None:
    assert not POD_EDGES & TRIGGERER_EDGES


def test_terminal_states_absorb() -> None:
    assert {before for before, _ in EDGES}.isdisjoint(TERMINAL)
    assert {state for state in State if terminal(state)} == TERMINAL


def test_every_other_state_can_reach_an_end_and_be_cancelled_in_one_edge() -> None:
    for state in set(State) - TERMINAL:
        assert (state, State.CANCELLED) in EDGES


def test_every_state_is_reached_from_the_first() -> None:
    reached = {State.SCHEDULED}
    while more := {after for before, after in EDGES if before in reached} - reached:
        reached |= more
    assert reached == set(State)


def test_only_a_pod_ends_a_running_task_well() -> None:
    assert (State.SCHEDULED, State.SUCCEEDED) in MARK_EDGES  # which never runs
    assert not MARK_EDGES & (POD_EDGES | TRIGGERER_EDGES)
    assert (State.UP_FOR_RETRY, State.SUCCEEDED) not in EDGES


def test_a_task_is_skipped_by_itself_or_by_its_triggers_event() -> None:
    assert {edge for edge in EDGES - MARK_EDGES if edge[1] is State.SKIPPED} == {
        (State.RUNNING, State.SKIPPED),
        (State.DEFERRED, State.SKIPPED),
    }
    assert (State.RUNNING, State.SKIPPED) in POD_EDGES
    assert (State.DEFERRED, State.SKIPPED) in TRIGGERER_EDGES
