"""The reflector and the store: a local copy of objects, kept up to date by list and watch."""
