"""An API server and an archive behind its service proxy, over real HTTP on loopback, as the command torpor sees them.

Objects are plain dictionaries. Logs of pods can be appended to while they are followed.
"""

from tests.support.fake_cluster.cluster import FakeCluster, Run, fake_cluster
from tests.support.fake_cluster.objects import NAMESPACE, Object, taskrun

__all__ = ["NAMESPACE", "FakeCluster", "Object", "Run", "fake_cluster", "taskrun"]
