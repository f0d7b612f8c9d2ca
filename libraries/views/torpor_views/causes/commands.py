"""The commands that causes suggest, quoted for a shell. Pure."""

import json
import re
import shlex

from torpor_wire import constants
from torpor_wire.text import printable_line

from torpor_views.model import RunView

_CUT = " ... "  # what `transitions.shorten` puts in place of the middle
_WORD = r"[A-Za-z0-9._:/=@-]+"
_FORMS = (
    rf"create serviceaccount {_WORD}",
    rf"create rolebinding {_WORD} --clusterrole=torpor-{_WORD} --serviceaccount={_WORD}",
    rf"create role read-{_WORD} --verb=get --resource=secrets --resource-name={_WORD}",
    rf"create rolebinding read-{_WORD} --role=read-{_WORD} --serviceaccount={_WORD}",
    rf"describe pod {_WORD}",
)
_KUBECTL = re.compile(
    rf"\bkubectl (?:get pods -A -l {_WORD}|-n (?P<namespace>{_WORD}) (?:{'|'.join(_FORMS)}))", re.ASCII
)
"""The commands that Torpor writes into messages. Code of a task writes messages too, so no other is suggested."""


def torpor(verb: str, run: RunView, ref: str = "", *flags: str) -> str:
    """Return `torpor VERB RUN[/REF] -n NAMESPACE`."""
    return _line("torpor", verb, f"{run.name}/{ref}" if ref else run.name, *flags, "-n", run.namespace)


def why_child(run: RunView, name: str) -> str:
    """Return the command that explains a run in a run."""
    return _line("torpor", "why", name, "-n", run.namespace)


def retry(run: RunView, *refs: str) -> str:
    """Return the command that runs tasks or instances again."""
    return _line("torpor", "retry", run.name, *refs, "-n", run.namespace)


def submit(run: RunView) -> str:
    """Return the command that submits a corrected Workflow as a new run."""
    return f"torpor submit FILE {_line('-n', run.namespace)}"


def edit(run: RunView) -> str:
    """Return the command that edits the Workflow of a run."""
    return _line("kubectl", "-n", run.namespace, "edit", "workflow", run.name)


def describe(run: RunView, kind: str, name: str = "") -> str:
    """Return `kubectl describe` of an object, or of all of a kind."""
    return _line("kubectl", "-n", run.namespace, "describe", kind, *([name] if name else []))


def list_all(run: RunView, plural: str) -> str:
    """Return `kubectl get` of all objects of a kind in the namespace."""
    return _line("kubectl", "-n", run.namespace, "get", plural)


def raise_parallelism(run: RunView) -> str:
    """Return the command that doubles the parallelism of a run."""
    patch = json.dumps({"spec": {"parallelism": min(max(run.parallelism, 1) * 2, 10_000)}}, separators=(",", ":"))
    return _line("kubectl", "-n", run.namespace, "patch", "workflow", run.name, "--type=merge", "-p", patch)


def edit_config_map(run: RunView, name: str) -> str:
    """Return the command that edits a ConfigMap of the namespace."""
    return _line("kubectl", "-n", run.namespace, "edit", "configmap", name)


def edit_pools(run: RunView) -> str:
    """Return the command that edits the pools of the namespace."""
    return edit_config_map(run, constants.POOLS_CONFIG)


def create_pool(run: RunView, pool: str) -> str:
    """Return the command that creates the pools of the namespace with this one."""
    literal = f"--from-literal={pool}=1"
    return _line("kubectl", "-n", run.namespace, "create", "configmap", constants.POOLS_CONFIG, literal)


def delete_node(node: str) -> str:
    """Return the command that deletes a node which is gone, or the one that shows the nodes."""
    return _line("kubectl", "delete", "node", node) if node else "kubectl get nodes"


def pool_pods(pool: str) -> str:
    """Return the command that shows the triggerers of a pool."""
    return _line("kubectl", "get", "pods", "-A", "-l", f"{constants.LABEL_POOL}={pool}")


def within(message: str, namespace: str) -> str:
    """Return the kubectl commands of a message; empty if there are none, or if one was cut.

    A command that names another namespace than the run's is none of Torpor's.
    """
    matches = _commands(message, namespace)
    return "; ".join(command[0] for command in matches)


def without_command(message: str) -> str:
    """Return a message without the commands at its end."""
    match = _KUBECTL.search(message)
    if match is None or _CUT in message[match.start() :]:
        return message
    return message[: match.start()].rstrip(" :;,\n")


def _commands(message: str, namespace: str) -> list[re.Match[str]]:
    matches = list(_KUBECTL.finditer(message))
    if not matches or _CUT in message[matches[0].start() :]:
        return []
    return [command for command in matches if command["namespace"] in (None, namespace)]


def _line(*words: str) -> str:
    return printable_line(shlex.join(words))
