"""The database migrations, for Alembic."""
