"""Metrics that the author of a Workflow defines, and that the operator exports to Prometheus."""

from typing import Annotated

from pydantic import Field
from torpor_wire import constants
from torpor_wire.enums import MetricType

from torpor_crds.models.base import Expression, Model, PrintableLine

MetricName = Annotated[str, Field(max_length=60, json_schema_extra={"pattern": r"^[a-z][a-z0-9_]*$"})]


class MetricLabel(Model):
    """A label of a metric."""

    name: Annotated[MetricName, Field(description="Name of the label. Not namespace or le, which are taken.")]
    value: Annotated[
        Expression,
        Field(
            description="CEL that returns a string, number or boolean. Beyond 200 series, a namespace loses its labels."
        ),
    ]


class CustomMetric(Model):
    """A number that the operator exports when a task or the run ends. A failure changes nothing in the run."""

    name: Annotated[
        MetricName,
        Field(description="Name of the metric. Prometheus gets torpor_custom_counter_NAME_total, for example."),
    ]
    help: Annotated[PrintableLine | None, Field(description="What the metric means.")] = None
    type: Annotated[
        MetricType,
        Field(
            description="What the value does: counter is increased by it, gauge is set to it, histogram observes it."
        ),
    ]
    value: Annotated[
        Expression,
        Field(
            description="CEL that returns a number, such as `result.rows`. It sees `result`, `params` and `task`, with "
            "name, index, state, reason, attempt and duration. A metric of the run sees `run`, with name, state and "
            "duration."
        ),
    ]
    when: Annotated[Expression | None, Field(description="CEL. If it is false, nothing is recorded. Unset: true.")] = (
        None
    )
    labels: Annotated[
        tuple[MetricLabel, ...],
        Field(
            max_length=constants.METRIC_LABELS_MAX,
            description="Labels beside `namespace`.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()
    buckets: Annotated[
        tuple[float, ...] | None,
        Field(max_length=12, description="Upper bounds of a histogram. Unset: from 0.1 to 3600."),
    ] = None


MetricList = Annotated[
    tuple[CustomMetric, ...],
    Field(
        max_length=constants.METRICS_MAX,
        description="Metrics that the operator exports: those of a task when an instance ends, those of the run at its "
        "end.",
        json_schema_extra={"x-key": "name"},
    ),
]
