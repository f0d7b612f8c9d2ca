"""The base of every model: camelCase on the wire, snake_case in Python, and text types with their limits.

Unknown fields are ignored, not refused: the API server has already pruned what this version does not know, and an
object written by a newer version must not stop an older controller.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from torpor_wire import constants, names, retry, text, times


class Model(BaseModel):
    """A frozen value with camelCase aliases."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")

    def to_json(self) -> dict[str, Any]:
        """As in YAML: with aliases, without fields that are None."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


IDENTIFIER = r"^[a-z][a-z0-9_]*$"

Identifier = Annotated[str, Field(pattern=IDENTIFIER, max_length=40)]
Duration = Annotated[str, Field(pattern=times.DURATION_PATTERN, min_length=2, max_length=20)]
Expression = Annotated[str, Field(min_length=1, max_length=1024)]
Value = Annotated[Any, Field(json_schema_extra={"x-any": True})]
Time = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]
Moment = Annotated[Time | None, BeforeValidator(lambda value: value if _is_time(value) else None)]
# Patterns of what the API server alone refuses: an object that was stored without them can still be read.
QUANTITY = r"\+?[0-9]*\.?[0-9]+([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?|\+?[0-9]+\."
"""A quantity of Kubernetes, such as 500m or 2Gi, that is not negative."""
Quantity = Annotated[str, Field(max_length=253, json_schema_extra={"pattern": rf"^({QUANTITY})$|\$\{{"})]
"""A quantity, or a text with an expression that yields one."""
PRINTABLE = {"pattern": text.PRINTABLE_PATTERN}
PRINTABLE_LINE = {"pattern": text.PRINTABLE_LINE_PATTERN}
FUNCTION = r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$"
WORD = {"pattern": r"^[A-Za-z][A-Za-z0-9_]*$"}
CLASS = {"pattern": r"^[A-Za-z_][A-Za-z0-9_.:/-]*$"}
SOURCE_HASH = {"pattern": r"^sha256:[0-9a-f]{16}$"}
LABEL_NAME = {"pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
OBJECT_NAME = {"pattern": names.OBJECT_NAME_PATTERN}

Message = Annotated[str, Field(max_length=constants.MESSAGE_MAX, json_schema_extra=PRINTABLE)]
ReasonWord = Annotated[str, Field(max_length=63, json_schema_extra=WORD)]
Name = Annotated[str, Field(max_length=63, json_schema_extra=OBJECT_NAME)]
QueueName = Annotated[str, Field(min_length=1, max_length=63, json_schema_extra=LABEL_NAME)]
ObjectName = Annotated[str, Field(max_length=253, json_schema_extra=OBJECT_NAME)]
ClassName = Annotated[str, Field(max_length=253, json_schema_extra=CLASS)]
PrintableLine = Annotated[str, Field(max_length=253, json_schema_extra=PRINTABLE_LINE)]
PrintableLog = Annotated[str, Field(max_length=constants.LOG_MAX, json_schema_extra=PRINTABLE)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]


def _is_time(value: object) -> bool:
    """Whether the text is a time to Python too: the API server lets year 0 pass, offsets of days, and more."""
    try:
        times.epoch(str(value))
    except ValueError:
        return False
    return True


class Metadata(Model):
    """What we read of an object's metadata; the rest stays with the API server."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)

    def is_of_generation(self, metadata: Mapping[str, Any]) -> bool:
        """Whether other metadata, as JSON, are of a version of the same object with the same spec."""
        identity = (metadata.get("uid"), metadata.get("generation"))
        return all(identity) and identity == (self.uid, self.generation)


class Condition(Model):
    """A condition as in the Kubernetes API conventions."""

    type: Annotated[str, Field(max_length=63, description="Succeeded, or (Workflow only) Reconciling or Stalled.")]
    status: Annotated[str, Field(max_length=10, description="True, False or Unknown.")]
    reason: Annotated[
        ReasonWord,
        Field(description="Machine-readable cause, a CamelCase word. docs/reference/reasons.md explains each."),
    ]
    message: Annotated[
        str,
        Field(
            max_length=4096,
            description="What happened, and what to do.",
            json_schema_extra=PRINTABLE,
        ),
    ] = ""
    last_transition_time: Annotated[Time, Field(description="When the status of the condition last changed.")]


class Retries(Model):
    """How often and how fast a failed attempt of a TaskRun is retried."""

    limit: Annotated[
        int,
        Field(
            ge=retry.UNLIMITED,
            le=retry.LIMIT_MAX,
            description="Maximum number of retries after the first attempt. -1: no limit.",
        ),
    ] = 0
    delay: Annotated[Duration, Field(description="Shortest pause before a retry.")] = "10s"
    backoff: Annotated[int, Field(ge=1, le=10, description="Factor by which each further pause grows.")] = 2
    max_delay: Annotated[
        Duration | None, Field(description="Longest pause between two attempts. Unset: 1h, or twice `delay`.")
    ] = None
    when: Annotated[Expression | None, Field(description="CEL: whether a failed attempt is retried.")] = None
    for_: Annotated[
        Duration | None,
        Field(alias="for", description="No attempt starts later than this after the start of the first one."),
    ] = None

    def policy(self) -> retry.Policy:
        """The policy in seconds."""
        longest = None if self.max_delay is None else times.seconds(self.max_delay)
        return retry.Policy(self.limit, times.seconds(self.delay), self.backoff, longest)


_DEFAULT_RETRIES = Retries()


class TaskRetries(Model):
    """How often and how fast a failed attempt is retried. Unset fields are those of `spec.defaults.retries`."""

    limit: Annotated[
        int | None,
        Field(
            ge=retry.UNLIMITED,
            le=retry.LIMIT_MAX,
            description="Maximum number of retries after the first attempt. Unset: 0. -1: no limit; attempts after the "
            "100th start at least a minute apart.",
        ),
    ] = None
    delay: Annotated[Duration | None, Field(description="Shortest pause before a retry. Unset: 10s.")] = None
    backoff: Annotated[
        int | None,
        Field(
            ge=1,
            le=10,
            description="Factor by which each further pause grows. Unset: 2. Above 1, a pause is up to twice as long, "
            "by a hash of the TaskRun, so that instances that failed together do not return together.",
        ),
    ] = None
    max_delay: Annotated[
        Duration | None,
        Field(description="Longest pause between two attempts, at least `delay`. Unset: 1h, or twice `delay`."),
    ] = None
    when: Annotated[
        Expression | None,
        Field(
            description="CEL over `attempt`, `exitCode` and `httpStatus` (-1 if there is none), `reason`, `message` "
            "and `exception` (the class of a Python exception, such as `OSError` or `requests.exceptions.Timeout`, "
            "else empty). If it is false, the failed attempt is not retried. It needs `limit`."
        ),
    ] = None
    for_: Annotated[
        Duration | None,
        Field(
            alias="for",
            description="No attempt starts later than this after the start of the first one. It needs `limit`.",
        ),
    ] = None

    def complete(self) -> Retries:
        """The policy of a TaskRun, with the defaults of unset fields."""
        chosen = {name: value for name, value in self if value is not None} if self.model_fields_set else {}
        return Retries(**chosen) if chosen else _DEFAULT_RETRIES
