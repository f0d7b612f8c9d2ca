"""Adds the uid of the namespace to results, runs and logs.

Which rows belong to the present namespace is known to the API server only. So existing rows have no uid, and the
archive assigns it after the migration to those that it can prove to belong to the namespace.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
_TABLES = ("results", "runs", "logs")


def upgrade() -> None:
    """Add the column and its index to each table."""
    for table in _TABLES:
        op.add_column(table, sa.Column("namespace_uid", sa.String(63), nullable=False, server_default=""))
        op.create_index(f"{table}_by_namespace_uid", table, ["namespace_uid", "namespace"])


def downgrade() -> None:
    """Drop what `upgrade` added."""
    for table in _TABLES:
        op.drop_index(f"{table}_by_namespace_uid", table)
        op.drop_column(table, "namespace_uid")
