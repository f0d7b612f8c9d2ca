"""Adds files of tasks: longer names of owners, and bodies whose bytes are in the object store."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Widen the name of the owner, and add the prefix of the names of a body's objects."""
    with op.batch_alter_table("results") as table:
        table.alter_column("taskrun", type_=sa.String(128), existing_type=sa.String(63), existing_nullable=False)
    op.add_column("bodies", sa.Column("objects", sa.Text))


def downgrade() -> None:
    """Restore what `upgrade` changed. Files of tasks are lost."""
    op.drop_column("bodies", "objects")
    op.execute("DELETE FROM results WHERE taskrun LIKE '%.file.%'")
    with op.batch_alter_table("results") as table:
        table.alter_column("taskrun", type_=sa.String(63), existing_type=sa.String(128), existing_nullable=False)
