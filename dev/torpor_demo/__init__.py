"""The demo and the release: images, manifest, and a first run on a cluster.

`cluster`, `images`, `manifest` and `install` install Torpor, also for the e2e tests. `release` pushes images and
renders the manifest. `recording` and `report` show one run. `torpor_dev` creates the cluster.
"""
