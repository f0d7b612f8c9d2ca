"""Adds the attempt, segment and launch of a result: a later launch replaces a result, an earlier one does not."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
_COLUMNS = ("attempt", "segment", "launch")


def upgrade() -> None:
    """Add the columns. Existing results count as those of the earliest launch."""
    for name in _COLUMNS:
        op.add_column("results", sa.Column(name, sa.Integer, nullable=False, server_default="0"))


def downgrade() -> None:
    """Drop the columns."""
    for name in _COLUMNS:
        op.drop_column("results", name)
