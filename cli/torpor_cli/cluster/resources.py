"""The resources that commands read, and their paths."""

from dataclasses import dataclass
from urllib.parse import quote

from torpor_wire import constants


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResource:
    """A resource of the API server. `group` is empty for the core group."""

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
        """Return the path of an object, of a namespace's objects, or of all. Names are quoted as one segment each."""
        prefix = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = ["namespaces", namespace] if self.namespaced and namespace else []
        parts += [part for part in (self.plural, name, subresource) if part is not None]
        return "/".join((prefix, *(quote(part, safe=":") for part in parts)))


WORKFLOWS = ApiResource(group=constants.GROUP, version=constants.VERSION, plural="workflows", kind="Workflow")
TASKRUNS = ApiResource(group=constants.GROUP, version=constants.VERSION, plural="taskruns", kind="TaskRun")
TEMPLATES = ApiResource(
    group=constants.GROUP, version=constants.VERSION, plural="workflowtemplates", kind="WorkflowTemplate"
)
CLUSTER_TEMPLATES = ApiResource(
    group=constants.GROUP,
    version=constants.VERSION,
    plural="clusterworkflowtemplates",
    kind="ClusterWorkflowTemplate",
    namespaced=False,
)
SCHEDULES = ApiResource(group=constants.GROUP, version=constants.VERSION, plural="schedules", kind="Schedule")
BACKFILLS = ApiResource(group=constants.GROUP, version=constants.VERSION, plural="backfills", kind="Backfill")
PODS = ApiResource(group="", version="v1", plural="pods", kind="Pod")
EVENTS = ApiResource(group="events.k8s.io", version="v1", plural="events", kind="Event")
CONFIG_MAPS = ApiResource(group="", version="v1", plural="configmaps", kind="ConfigMap")
NAMESPACES = ApiResource(group="", version="v1", plural="namespaces", kind="Namespace", namespaced=False)
SERVICE_ACCOUNTS = ApiResource(group="", version="v1", plural="serviceaccounts", kind="ServiceAccount")
SELF_REVIEWS = ApiResource(
    group="authentication.k8s.io", version="v1", plural="selfsubjectreviews", kind="SelfSubjectReview", namespaced=False
)
SELF_ACCESS_REVIEWS = ApiResource(
    group="authorization.k8s.io",
    version="v1",
    plural="selfsubjectaccessreviews",
    kind="SelfSubjectAccessReview",
    namespaced=False,
)
