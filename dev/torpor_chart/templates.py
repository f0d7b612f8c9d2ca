"""The templates of the chart: each object of the kustomizations, under the conditions of the values."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from torpor_chart import renders
from torpor_chart.fields import with_values
from torpor_chart.renders import OPTIONS, Key, Object
from torpor_chart.template_text import NAMESPACE, POOL, SYSTEM, document

_NONE: frozenset[str] = frozenset()
_CLUSTER = ("ClusterRole", "PriorityClass", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_CONFINED = "-confined"
_FOLDERS = {"CustomResourceDefinition": "crds", "ValidatingAdmissionPolicy": "policies"}
_FOLDERS["ValidatingAdmissionPolicyBinding"] = "policies"
_COMPONENTS = ("operator", "triggerer", "archive", "ui")


def templates() -> dict[str, str]:
    """The text of each template by its path in the folder of templates."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for key in _keys():
        files[_file(key)].append(_if(_condition(key), _choice(key, [*OPTIONS], _NONE)))
    files["namespaces.yaml"] = [_namespaces()]
    files["pools.yaml"] = [_pools()]
    return {name: "".join(f"---{text}" for text in texts) for name, texts in files.items()}


def _keys() -> list[Key]:
    """The keys of all objects that any choice of components has, in the order of the base."""
    renderings = (renders.installation(components) for components in _single_choices())
    return [key for key in dict.fromkeys(key for each in renderings for key in each) if key != ("Namespace", SYSTEM)]


def _single_choices() -> Iterator[frozenset[str]]:
    yield _NONE
    for name in OPTIONS:
        yield frozenset([name])


def _choice(key: Key, options: list[str], chosen: frozenset[str]) -> str:
    """The object with and without each component that changes it."""
    base = renders.installation().get(key)
    changing = [name for name in options if renders.installation(frozenset([name])).get(key) != base]
    if not changing:
        body = renders.installation(chosen).get(key)
        return f"\n{document(with_values(body))}" if body else "\n"
    first, *others = changing
    selected, not_selected = _choice(key, others, chosen | {first}), _choice(key, others, chosen)
    return f"\n{{{{- if {OPTIONS[first]} }}}}{selected}{{{{- else }}}}{not_selected}{{{{- end }}}}\n"


def _if(condition: str, text: str) -> str:
    return f"\n{{{{- if {condition} }}}}{text}{{{{- end }}}}\n" if condition else text


def _condition(key: Key) -> str:
    """What an object needs besides the components that change it."""
    match key:
        case "CustomResourceDefinition", _:
            return "$.Values.crds.install"
        case "ClusterRoleBinding", "torpor-reviews":
            return "$.Values.cluster.reviews"
        case "NetworkPolicy", _:
            return "$.Values.networkPolicies.enabled"
        case (("PodMonitor" | "ServiceMonitor" | "PrometheusRule"), _):
            return "$.Values.monitoring.prometheusOperator"
        case kind, _:
            return "$.Values.cluster.install" if kind in _CLUSTER else ""


def _file(key: Key) -> str:
    kind, name = key
    if kind in _FOLDERS:
        return f"{_FOLDERS[kind]}/{name.removesuffix('.torpor.dev').removeprefix('torpor-')}.yaml"
    component = next((each for each in _COMPONENTS if name.startswith(f"torpor-{each}")), "")
    if component:
        return f"{component}.yaml"
    return "triggerer.yaml" if name.startswith("torpor-seal-") else "installation.yaml"


def _namespaces() -> str:
    """The objects of the namespaces that the chart sets up for workflows."""
    objects = renders.namespace(confined=True)
    texts = [f"---{_if(_condition_in_a_namespace(key), _text(body))}" for key, body in objects.items()]
    pools = f"\n{{{{- range $pool := $.Values.pools }}}}\n{''.join(_pool_bindings(objects))}{{{{- end }}}}\n"
    each = 'range $namespace := include "torpor.namespaces" $ | fromJsonArray'
    return f"\n{{{{- {each} }}}}\n{''.join(texts)}{pools}{{{{- end }}}}\n"


def _condition_in_a_namespace(key: Key) -> str:
    kind, name = key
    if kind == "ResourceQuota":  # of the administrator of the cluster: ClusterRole admin does not include it
        return "$.Values.cluster.install"
    return "$.Values.watchNamespaces" if name.endswith(_CONFINED) else ""


def _pool_bindings(objects: Mapping[Key, Object]) -> Iterator[str]:
    """What binds the triggerers of a pool in a namespace, as those of the pool `default`."""
    for (_, name), body in objects.items():
        if name == "torpor-triggerer-watch":
            yield f"---{_text(_of_a_pool(body))}"
        elif name == "torpor-triggerer-confined":
            yield f"---{_if('$.Values.watchNamespaces', _text(_of_a_pool(body)))}"
        elif name == "torpor-triggerer-pool-default-confined":
            yield f"---{_if('$.Values.watchNamespaces', _text(_own_role()))}"
            yield f"---{_if('$.Values.watchNamespaces', _text(_of_a_pool(body, role=True)))}"


def _of_a_pool(body: Object, *, role: bool = False) -> Object:
    name = body["metadata"]["name"]
    named = name.replace("default", POOL) if "default" in name else name.replace("triggerer", f"triggerer-{POOL}", 1)
    subjects = [{**subject, "name": f"{subject['name']}-{POOL}"} for subject in body["subjects"]]
    reference = {**body["roleRef"], "kind": "Role", "name": named} if role else body["roleRef"]
    return {**body, "metadata": {**body["metadata"], "name": named}, "roleRef": reference, "subjects": subjects}


def _own_role() -> Object:
    """The role of a pool, in a namespace: a confined installation has no role of the cluster."""
    source = renders.pool()["ClusterRole", f"torpor-triggerer-pool-{POOL}"]
    metadata = {**source["metadata"], "name": f"torpor-triggerer-pool-{POOL}{_CONFINED}", "namespace": NAMESPACE}
    return {**source, "kind": "Role", "metadata": metadata}


def _pools() -> str:
    """The objects of each further pool. A confined installation binds its rights in the namespaces instead."""
    texts = [
        f"---{_if('not $.Values.watchNamespaces' if kind.startswith('Cluster') else '', _text(body))}"
        for (kind, _), body in renders.pool().items()
    ]
    return f"\n{{{{- range $pool := $.Values.pools }}}}\n{''.join(texts)}{{{{- end }}}}\n"


def _text(body: Object) -> str:
    return f"\n{document(with_values(body))}"
