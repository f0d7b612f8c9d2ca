"""The documentation as a site: hooks of MkDocs."""
