"""The demo: installs Torpor on a cluster, runs a workflow and prints its TaskRuns as they change state.

`cluster`, `images`, `manifest` and `install` install Torpor, also for the e2e tests. `release` pushes images and
renders the manifest. `follower`, `observe`, `recording` and `summary` show one run. `torpor_dev` creates the cluster.
"""
