"""An object of the cluster as the body of a task, and as its TaskRun stores it (ADR 0075)."""

from typing import Annotated

from pydantic import Field
from torpor_wire import constants
from torpor_wire.enums import DeleteOnEnd, ObjectAction

from torpor_crds.models.base import ClassName, Duration, Expression, Model, Name, ObjectName, Value

_ACTION = (
    "create: a new object. apply: server-side apply; a field of another manager is an error. patch: a merge patch of "
    "an object that exists. delete: the task waits until the object is gone. get: the task waits until it exists."
)
_UNTIL = (
    "CEL over `object`: the task waits until it is true. A missing field means not yet. Unset: the task ends once the "
    "action is done."
)
_FAIL_WHEN = "CEL over `object`: if it is true before `until` is, the attempt fails. It needs `until`."
_RESULT = (
    "CEL over `object`: the result of the task. Unset: name, namespace, uid, resourceVersion, apiVersion and kind."
)
_DELETE_ON_END = (
    "The ends of an attempt after which a created object is deleted: Always, OnSuccess, OnFailure (also a timeout and "
    "a cancellation), OnCancel (also a timeout), or Never. With Never the object also outlives the run."
)


class ManifestKeyRef(Model):
    """An entry of a ConfigMap of the namespace."""

    name: Annotated[ObjectName, Field(description="Name of the ConfigMap.")]
    key: Annotated[
        str,
        Field(
            min_length=1,
            max_length=253,
            json_schema_extra={"pattern": r"^[-._a-zA-Z0-9]+$"},
            description="Key of the entry.",
        ),
    ]


class ManifestSource(Model):
    """Where more fields of a manifest come from."""

    config_map_key_ref: Annotated[
        ManifestKeyRef,
        Field(description="The entry of a ConfigMap: a manifest as YAML or JSON, up to 16 kB, without anchors."),
    ]


class ObjectTask(Model):
    """An object that the task creates or changes with the rights of its ServiceAccount, and waits for without a pod."""

    action: Annotated[ObjectAction, Field(description=_ACTION)] = ObjectAction.CREATE
    manifest: Annotated[
        Value,
        Field(
            description="The object: apiVersion, kind, metadata and its other fields, up to 16 kB. Strings may contain "
            "`${...}` expressions; a string that is one expression keeps its type. Without `metadata.name`, a created "
            "object gets a name that begins with `metadata.generateName` or the name of the TaskRun."
        ),
    ]
    manifest_from: Annotated[
        ManifestSource | None,
        Field(
            description="More fields of the object, read when the instance is created. `manifest` still has apiVersion "
            "and kind, and its fields win. Expressions in them are not evaluated."
        ),
    ] = None
    until: Annotated[Expression | None, Field(description=_UNTIL)] = None
    fail_when: Annotated[Expression | None, Field(description=_FAIL_WHEN)] = None
    result: Annotated[Expression | None, Field(description=_RESULT)] = None
    delete_on_end: Annotated[DeleteOnEnd | None, Field(description=f"{_DELETE_ON_END} Unset: OnCancel.")] = None
    service_account_name: Annotated[
        Name | None,
        Field(
            description="ServiceAccount whose rights the task has. Its annotation torpor.dev/tokens must be `allowed`. "
            "Unset: the default of tasks."
        ),
    ] = None
    timeout: Annotated[
        Duration | None, Field(description="Maximum duration of the attempt, such as 6h. It then fails.")
    ] = None


class ObjectCall(Model):
    """The object of a TaskRun, with evaluated expressions."""

    action: Annotated[ObjectAction, Field(description=_ACTION)] = ObjectAction.CREATE
    api_version: Annotated[ClassName, Field(description="apiVersion of the object.")]
    kind: Annotated[ClassName, Field(description="kind of the object.")]
    name: Annotated[ObjectName | None, Field(description="Name of the object. Unset: it follows from the attempt.")] = (
        None
    )
    manifest: Annotated[str, Field(max_length=constants.MANIFEST_MAX, description="The object, as JSON text.")] = "{}"
    until: Annotated[Expression | None, Field(description=_UNTIL)] = None
    fail_when: Annotated[Expression | None, Field(description=_FAIL_WHEN)] = None
    result: Annotated[Expression | None, Field(description=_RESULT)] = None
    delete_on_end: Annotated[DeleteOnEnd, Field(description=_DELETE_ON_END)] = DeleteOnEnd.ON_CANCEL
