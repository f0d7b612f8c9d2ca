"""Creates bodies, their chunks, results and finished runs."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "bodies",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("complete", sa.Boolean, nullable=False),
        sa.Column("created", sa.Float(53), nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("size", sa.BigInteger),
        sa.Column("digest", sa.String(64)),
        sa.Column("length", sa.BigInteger),
        sa.Column("keys", sa.Text),
    )
    op.create_index("bodies_unfinished", "bodies", ["complete", "created"])
    op.create_table(
        "chunks",
        sa.Column("body", sa.String(32), sa.ForeignKey("bodies.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("lines", sa.Integer, nullable=False),
        sa.Column("starts", sa.LargeBinary, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_index("chunks_first", "chunks", ["body", "first"])
    op.create_table(
        "results",
        sa.Column("namespace", sa.String(253), primary_key=True),
        sa.Column("taskrun", sa.String(63), primary_key=True),
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("workflow", sa.String(63), nullable=False),
        sa.Column("body", sa.String(32), sa.ForeignKey("bodies.id"), nullable=False, unique=True),
    )
    op.create_index("results_workflow", "results", ["namespace", "workflow"])
    op.create_table(
        "runs",
        sa.Column("namespace", sa.String(253), primary_key=True),
        sa.Column("uid", sa.String(63), primary_key=True),
        sa.Column("name", sa.String(253), nullable=False),
        sa.Column("state", sa.String(63), nullable=False),
        sa.Column("created", sa.String(32), nullable=False),
        sa.Column("completed", sa.String(32), nullable=False),
        sa.Column("archived", sa.Float(53), nullable=False),
        sa.Column("body", sa.String(32), sa.ForeignKey("bodies.id"), nullable=False, unique=True),
    )
    op.create_index("runs_newest", "runs", ["namespace", "archived", "uid"])


def downgrade() -> None:
    """Drop the tables."""
    for table in ("runs", "results", "chunks", "bodies"):
        op.drop_table(table)
