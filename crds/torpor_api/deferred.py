"""What stands on a deferred TaskRun: the trigger it waits for, and where its next segment enters.

Worker and triggerer write and read both; only lengths are judged here.
"""

from typing import Annotated

from pydantic import Field
from torpor_wire import keys

from torpor_api.schema import Model


class Waiting(Model):
    """The trigger that a deferred TaskRun waits for."""

    class_name: Annotated[str, Field(alias="class", max_length=253, description="Registered class of the trigger.")]
    kwargs: Annotated[str, Field(max_length=keys.KWARGS_MAX, description="Keyword arguments, as JSON text.")] = "{}"
    key: Annotated[str, Field(max_length=64, description="Equal for waits that one poke can serve.")]
    shard: Annotated[int, Field(ge=0, lt=keys.SHARDS, description="Which shard runs it: hash of the key.")]
    waits_for: Annotated[str, Field(max_length=120, description="What is waited for, in one line.")] = ""


class Resume(Model):
    """Where the next segment enters."""

    method: Annotated[
        str,
        Field(max_length=253, description="Method of the operator, or `module:function`; empty: the task anew."),
    ]
    kwargs: Annotated[str, Field(max_length=keys.NEXT_MAX, description="State passed on, as JSON text.")] = "{}"
    on_timeout: Annotated[
        str | None,
        Field(max_length=253, description="Where it enters instead when the wait took too long; unset: it fails."),
    ] = None
    timeout_is_final: Annotated[
        bool | None,
        Field(
            description="Where true, a wait that took too long fails the task without another attempt, as a sensor's."
        ),
    ] = None
