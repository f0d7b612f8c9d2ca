"""A made-up cluster: the API server in memory over real HTTP, with users, rights, an archive, and thousands of runs.

    python -m tests.support.made_up_cluster --runs 10000 --instances 10000 --kubeconfig build/made-up

prints the kubeconfig of its users and serves until Ctrl-C. `torpor ui --kubeconfig build/made-up` shows it.
"""

from tests.support.made_up_cluster.api import MadeUpApi, serve
from tests.support.made_up_cluster.archive import MadeUpArchive
from tests.support.made_up_cluster.users import ADMIN, User

__all__ = ["ADMIN", "MadeUpApi", "MadeUpArchive", "User", "serve"]
