"""An example of Torpor: what Debian packages is the image made of that its tasks run in?

`tasks` is what examples/census.yaml names, `audit` what examples/groups does; `dpkg` reads the package database and
knows nothing of workflows.
"""
