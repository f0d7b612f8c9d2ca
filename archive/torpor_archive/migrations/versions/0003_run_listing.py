"""Adds what runs are listed by: the completion as a number, the number of TaskRuns, and the labels.

Existing runs have their labels in their bodies, which may be large. So `indexed` is false for them, and the archive
reads their labels after the migration, run by run.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
_BATCH = 1000
_RUNS = sa.table(
    "runs",
    *map(sa.column, ("namespace", "uid", "completed", "archived", "completed_at", "body", "taskruns")),
)
_BODIES = sa.table("bodies", sa.column("id"), sa.column("length"))


def upgrade() -> None:
    """Add the columns and the table, and fill what the rows themselves tell."""
    op.add_column("runs", sa.Column("completed_at", sa.Float(53), nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("clears", sa.Integer, nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("taskruns", sa.Integer, nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("indexed", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "run_labels",
        sa.Column("namespace", sa.String(253), primary_key=True),
        sa.Column("uid", sa.String(63), primary_key=True),
        sa.Column("key", sa.String(317), primary_key=True),
        sa.Column("value", sa.String(63), nullable=False),
        sa.ForeignKeyConstraint(["namespace", "uid"], ["runs.namespace", "runs.uid"], ondelete="CASCADE"),
    )
    _fill()
    op.drop_index("runs_newest", "runs")
    op.create_index("runs_by_completion", "runs", ["completed_at", "uid"])
    op.create_index("runs_of_namespace", "runs", ["namespace", "completed_at", "uid"])
    op.create_index("runs_by_name", "runs", ["namespace", "name"])
    op.create_index("runs_not_indexed", "runs", ["indexed"])
    op.create_index("run_labels_value", "run_labels", ["key", "value"])


def downgrade() -> None:
    """Drop what `upgrade` added."""
    op.drop_table("run_labels")
    for name in ("runs_by_completion", "runs_of_namespace", "runs_by_name", "runs_not_indexed"):
        op.drop_index(name, "runs")
    op.create_index("runs_newest", "runs", ["namespace", "archived", "uid"])
    for name in ("completed_at", "clears", "taskruns", "indexed"):
        op.drop_column("runs", name)


def _fill() -> None:
    connection = op.get_bind()
    length = sa.select(_BODIES.c.length - 1).where(_BODIES.c.id == _RUNS.c.body).scalar_subquery()
    connection.execute(sa.update(_RUNS).values(taskruns=sa.func.coalesce(length, 0)))
    same = (_RUNS.c.namespace == sa.bindparam("in_namespace")) & (_RUNS.c.uid == sa.bindparam("with_uid"))
    changed = sa.update(_RUNS).where(same).values(completed_at=sa.bindparam("moment"))
    last: tuple[Any, Any] = ("", "")
    while rows := connection.execute(
        sa.select(_RUNS)
        .where(sa.tuple_(_RUNS.c.namespace, _RUNS.c.uid) > sa.tuple_(*map(sa.literal, last)))
        .order_by(_RUNS.c.namespace, _RUNS.c.uid)
        .limit(_BATCH)
    ).all():
        values = [
            {"in_namespace": row.namespace, "with_uid": row.uid, "moment": _seconds(row.completed, row.archived)}
            for row in rows
        ]
        connection.execute(changed, values)
        last = (rows[-1].namespace, rows[-1].uid)


def _seconds(completed: str, archived: float) -> float:
    """The completion in seconds since the epoch; the time of archival if the text is no time."""
    try:
        moment = datetime.fromisoformat(completed)
        return moment.timestamp() if moment.tzinfo else archived
    except (ValueError, OverflowError):
        return archived
