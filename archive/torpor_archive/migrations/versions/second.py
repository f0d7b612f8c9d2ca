"""Which attempt, segment and launch a result is of: a later one replaces it, an earlier one never does."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
_COLUMNS = ("attempt", "segment", "launch")


def upgrade() -> None:
    """Add the columns; results that are there count as of the earliest."""
    for name in _COLUMNS:
        op.add_column("results", sa.Column(name, sa.Integer, nullable=False, server_default="0"))


def downgrade() -> None:
    """Take them away."""
    for name in _COLUMNS:
        op.drop_column("results", name)
