"""What reads of the API server in memory would answer: each need of a plan."""

from typing import TYPE_CHECKING, assert_never

from torpor_crds.models import template as templates
from torpor_expressions.evaluator import evaluate_here
from torpor_expressions.value import Value
from torpor_operator.model.actions import (
    ConfirmArchived,
    ConfirmLogs,
    ConfirmPod,
    ConfirmPods,
    ConfirmRun,
    ConfirmTaskRun,
    Evaluate,
    Need,
    ReadAccount,
    ReadClaimWarning,
    ReadConfigMap,
    ReadNamespace,
    ReadPodWarning,
    ReadTemplate,
)
from torpor_operator.model.snapshot import (
    AccountUse,
    Answer,
    PodWarning,
    Presence,
    RunNotArchived,
    SettledLogs,
    TemplateSource,
    UnreadableTemplate,
)
from torpor_operator.model.step_parts import CombineSteps

if TYPE_CHECKING:
    from tests.support.memory_api.stored import Stored


def answer(stored: "Stored", need: Need) -> Answer:  # noqa: C901, PLR0912 - a case a need
    match need:
        case Evaluate(expression=expression, variables=variables):
            stored.evaluated.append(need)
            return evaluate_here(expression, variables)
        case ReadClaimWarning():
            stored.confirmed.append(need)
            return stored.claim_warning
        case CombineSteps():
            stored.confirmed.append(need)
            return stored.combined
        case ReadNamespace():
            stored.confirmed.append(need)
            return stored.namespace
        case ReadAccount(name=name):
            stored.confirmed.append(need)
            return stored.accounts.get(name, AccountUse.ALLOWED)
        case ReadConfigMap(name=name, key=key):
            data = dict(stored.variables[name])
            return Value(json={each: text for each, text in data.items() if key in {"", each}})
        case ReadTemplate(namespace=namespace, name=name):
            stored.confirmed.append(need)
            return _template(stored, name, of_cluster=not namespace)
        case ConfirmArchived(completed=completed):
            stored.confirmed.append(need)
            if stored.archive_error:
                return RunNotArchived(stored.archive_error)
            return Presence.PRESENT if completed in stored.archived else Presence.GONE
        case ConfirmTaskRun(name=name):
            stored.confirmed.append(need)
            if name in stored.unreadable:
                return Presence.UNREADABLE
            stored.unseen.discard(name)
            return Presence.PRESENT if name in stored.taskruns else Presence.GONE
        case ConfirmRun(name=name, parent=parent):
            stored.confirmed.append(need)
            stored.unseen.discard(name)
            child = stored.children.get(name)
            return Presence.PRESENT if child and child["spec"]["parent"]["uid"] == parent else Presence.GONE
        case ConfirmPod(name=name, uid=uid):
            stored.confirmed.append(need)
            stored.unseen.discard(name)
            held = stored.pods.get(name)
            if held and held["metadata"]["uid"] == uid:
                return Presence.PRESENT
            return Presence.DISRUPTED if uid in stored.disrupted_pods else Presence.GONE
        case ConfirmPods(taskrun_uid=uid):
            stored.confirmed.append(need)
            stored.unconfirmed_pods.pop(uid, None)
            owned = [body["metadata"] for body in stored.pods.values()]
            stored.unseen -= {meta["name"] for meta in owned if meta["ownerReferences"][0]["uid"] == uid}
            return Presence.PRESENT
        case ConfirmLogs(pods=pods):
            stored.confirmed.append(need)
            return SettledLogs(stored.settled_logs & set(pods))
        case ReadPodWarning(uid=uid):
            stored.looks.add(need)
            return stored.warnings.get(uid, PodWarning())
        case _:
            assert_never(need)


def _template(stored: "Stored", name: str, *, of_cluster: bool) -> Answer:
    body = (stored.cluster_templates if of_cluster else stored.templates).get(name)
    parse = templates.parse_of_cluster if of_cluster else templates.parse
    if body is None:
        return Presence.GONE
    try:
        return TemplateSource(parse(body), body["spec"]["workflow"])
    except ValueError as error:
        return UnreadableTemplate(str(error))
