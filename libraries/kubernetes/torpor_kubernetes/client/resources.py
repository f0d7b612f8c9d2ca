"""The resources of the API server and their paths.

Users choose some names (a trigger can wait for any object). A name must be a single path segment, so that
`../secrets/x` cannot reach another resource.
"""

from dataclasses import dataclass

from torpor_wire import constants


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource as the API server serves it. `group` is empty for the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """`group/version`, or only the version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the path of an object, of a namespace's objects, or of all objects.

        Raises ValueError for a name that is not a path segment, or a namespaced object without a namespace.
        """
        if self.namespaced and name is not None and not namespace:
            raise ValueError(f"a {self.kind} needs a namespace; {name!r} has none")
        parts = ["namespaces", namespace] if self.namespaced and namespace else []
        parts += [part for part in (self.plural, name, subresource) if part is not None]
        return "/".join((group_path(self.api_version), *map(_segment, parts)))


def group_path(api_version: str) -> str:
    """Return the path of an apiVersion. Raises ValueError unless it is `group/version` or a version."""
    group, _, version = api_version.rpartition("/")
    return f"/apis/{_segment(group)}/{_segment(version)}" if group else f"/api/{_segment(version)}"


def _segment(name: str) -> str:
    """Apply the API server's rule for names in paths, and reject characters with a meaning in URLs."""
    if (
        not name
        or name in {".", ".."}
        or any(character in "/%?#\\" or not " " < character < "\x7f" for character in name)
    ):
        raise ValueError(f"{name!r} is not a name")
    return name


WORKFLOWS = Resource(group=constants.GROUP, version=constants.VERSION, plural="workflows", kind="Workflow")
TASKRUNS = Resource(group=constants.GROUP, version=constants.VERSION, plural="taskruns", kind="TaskRun")
CLUSTER_TEMPLATES = Resource(
    group=constants.GROUP,
    version=constants.VERSION,
    plural="clusterworkflowtemplates",
    kind="ClusterWorkflowTemplate",
    namespaced=False,
)
TEMPLATES = Resource(
    group=constants.GROUP, version=constants.VERSION, plural="workflowtemplates", kind="WorkflowTemplate"
)
SCHEDULES = Resource(group=constants.GROUP, version=constants.VERSION, plural="schedules", kind="Schedule")
BACKFILLS = Resource(group=constants.GROUP, version=constants.VERSION, plural="backfills", kind="Backfill")
PODS = Resource(group="", version="v1", plural="pods", kind="Pod")
NODES = Resource(group="", version="v1", plural="nodes", kind="Node", namespaced=False)
NAMESPACES = Resource(group="", version="v1", plural="namespaces", kind="Namespace", namespaced=False)
CLAIMS = Resource(group="", version="v1", plural="persistentvolumeclaims", kind="PersistentVolumeClaim")
CONFIG_MAPS = Resource(group="", version="v1", plural="configmaps", kind="ConfigMap")
SECRETS = Resource(group="", version="v1", plural="secrets", kind="Secret")
ACCOUNTS = Resource(group="", version="v1", plural="serviceaccounts", kind="ServiceAccount")
EVENTS = Resource(group="events.k8s.io", version="v1", plural="events", kind="Event")
LEASES = Resource(group="coordination.k8s.io", version="v1", plural="leases", kind="Lease")
ACCESS_REVIEWS = Resource(
    group="authorization.k8s.io",
    version="v1",
    plural="subjectaccessreviews",
    kind="SubjectAccessReview",
    namespaced=False,
)
SELF_ACCESS_REVIEWS = Resource(
    group="authorization.k8s.io",
    version="v1",
    plural="selfsubjectaccessreviews",
    kind="SelfSubjectAccessReview",
    namespaced=False,
)
