"""A local cache of objects, kept up to date by list and watch."""
