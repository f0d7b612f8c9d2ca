"""What Alembic runs: the steps, on the connection that was handed over, in the transaction that it is in."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
