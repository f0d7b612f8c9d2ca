"""Adds the name of the container to logs: pods of several containers have a log of each."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column. Logs of earlier versions are those of the container of the task."""
    op.add_column("logs", sa.Column("container", sa.String(63), nullable=False, server_default="main"))


def downgrade() -> None:
    """Drop the column, and the logs of other containers."""
    op.execute("DELETE FROM log_chunks WHERE log IN (SELECT id FROM logs WHERE container <> 'main')")
    op.execute("DELETE FROM logs WHERE container <> 'main'")
    op.drop_column("logs", "container")
