"""Which kinds there are and at which paths the API server has them.

Names come from users too (a trigger waits for any object), so a path is built only from names that stay one segment:
a name such as `../secrets/x` must not lead elsewhere.
"""

from dataclasses import dataclass

from torpor_wire import constants


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A kind as the API server serves it; `group` is empty for the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The path of one object, or of all in a namespace, or of all.

        Raises ValueError for a name that is no path segment, or a namespaced object without its namespace.
        """
        if self.namespaced and name is not None and not namespace:
            raise ValueError(f"a {self.kind} has a namespace; which one is {name!r} in?")
        parts = ["namespaces", namespace] if self.namespaced and namespace else []
        parts += [part for part in (self.plural, name, subresource) if part is not None]
        return "/".join((group_path(self.api_version), *map(_segment, parts)))


def group_path(api_version: str) -> str:
    """Where the kinds of an apiVersion are. Raises ValueError for what is no `group/version` nor a version."""
    group, _, version = api_version.rpartition("/")
    return f"/apis/{_segment(group)}/{_segment(version)}" if group else f"/api/{_segment(version)}"


def _segment(name: str) -> str:
    """The API server's own rule for names in paths, and nothing that a URL would read otherwise."""
    if (
        not name
        or name in {".", ".."}
        or any(character in "/%?#\\" or not " " < character < "\x7f" for character in name)
    ):
        raise ValueError(f"{name!r} is not a name")
    return name


WORKFLOWS = Resource(group=constants.GROUP, version=constants.VERSION, plural="workflows", kind="Workflow")
TASKRUNS = Resource(group=constants.GROUP, version=constants.VERSION, plural="taskruns", kind="TaskRun")
PODS = Resource(group="", version="v1", plural="pods", kind="Pod")
CONFIG_MAPS = Resource(group="", version="v1", plural="configmaps", kind="ConfigMap")
SECRETS = Resource(group="", version="v1", plural="secrets", kind="Secret")
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
