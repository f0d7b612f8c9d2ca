"""The first run: a cluster, Torpor in it, and a workflow whose TaskRuns are shown as they change state.

`cluster`, `images` and `install` bring it up, and the e2e tests use them too; `observe`, `story` and `proof` show one
run. Must not know how a cluster is made: that is torpor_dev's.
"""
