"""An example workflow: which Debian packages does the image of its tasks contain?

`tasks` is used by examples/census.yaml, `audit` by examples/groups. `dpkg` reads the package database and does not
depend on Torpor.
"""
