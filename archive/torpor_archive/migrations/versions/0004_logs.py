"""Creates logs and their chunks."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
_TEXTS = {"namespace": 253, "workflow": 63, "taskrun": 253, "task": 253, "path": 63}
_PLACE = {"kind": 8, "pod": 253, "node": 253, "started": 40, "ended": 40, "state": 8, "reason": 63}


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "logs",
        sa.Column("id", sa.String(128), primary_key=True),
        *(sa.Column(name, sa.String(length), nullable=False) for name, length in _TEXTS.items()),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("attempt", "segment", "launch")),
        *(sa.Column(name, sa.String(length), nullable=False) for name, length in _PLACE.items()),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("failed", sa.Boolean, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("size", "omitted", "stored")),
        sa.Column("object", sa.Text, nullable=False),
        sa.Column("created", sa.Float(53), nullable=False),
        sa.Column("owner", sa.String(253), nullable=False),
        sa.Column("expires", sa.Float(53), nullable=False),
    )
    op.create_index("logs_run", "logs", ["namespace", "workflow", "started", "id"])
    op.create_index("logs_pending", "logs", ["state", "expires"])
    op.create_table(
        "log_chunks",
        sa.Column("log", sa.String(128), sa.ForeignKey("logs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table("log_garbage", sa.Column("object", sa.String(500), primary_key=True))


def downgrade() -> None:
    """Drop the tables."""
    for table in ("log_garbage", "log_chunks", "logs"):
        op.drop_table(table)
