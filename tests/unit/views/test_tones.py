import pytest
from torpor_views import tones
from torpor_views.instance import InstanceView
from torpor_views.tones import Tone
from torpor_wire.state import RunState, State, TaskState

from tests.unit.views.objects import taskrun


@pytest.mark.parametrize("word", [*State, *TaskState, *RunState])
def test_every_state_has_a_tone(word: str) -> None:
    assert tones.of_word(word) is not Tone.IDLE


def test_a_state_of_a_newer_version_is_idle() -> None:
    assert tones.of_word("Paused") is Tone.IDLE


@pytest.mark.parametrize(
    ("state", "reason", "tone"),
    [
        ("Scheduled", "", Tone.QUEUE),
        ("Scheduled", "Unschedulable", Tone.WARN),
        ("Deferred", "Waiting", Tone.WAIT),
        ("Deferred", "PoolUnserved", Tone.WARN),
        ("Running", "LoopBlocked", Tone.RUN),
        ("Failed", "Error", Tone.BAD),
    ],
)
def test_an_instance_that_is_held_up_is_a_warning(state: str, reason: str, tone: Tone) -> None:
    assert tones.of_instance(InstanceView.parse(taskrun("load", state, reason=reason))) is tone
