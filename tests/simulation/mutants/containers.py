"""Guards of pods with several containers, of exit codes as results, and of volumes of a run."""

from dataclasses import replace
from typing import Any

from torpor_operator.model import pod as pods
from torpor_operator.model import volume_claims
from torpor_operator.model.pod import Pod
from torpor_operator.taskrun import containers, pod_failure
from torpor_operator.taskrun.outcomes import step_results
from torpor_operator.taskrun.step import TaskRunView
from torpor_operator.workflows.claim_writer import ClaimWriter

from tests.simulation.mutants.mutant import Mutant, put
from tests.simulation.scenarios.random_containers import FIRST_SEED


def _results() -> None:
    put(step_results, "combined", lambda _container, _pod, last: last)


def _exit_code() -> None:
    put(containers, "has_outcome", lambda _, pod: pod.exit_code == 0 and not pod.container)


def _signal() -> None:
    has_outcome = containers.has_outcome

    def any_code(view: TaskRunView, pod: Pod) -> bool:
        program = view.taskrun.spec.container
        return has_outcome(view, pod) or bool(program and program.result == "exitCode" and pod.exit_code is not None)

    put(containers, "has_outcome", any_code)


def _failed_container() -> None:
    parse_pod = pods.parse_pod
    put(pods, "parse_pod", lambda body: replace(parse_pod(body), container=""))


def _sidecar_end() -> None:
    parse_pod = pods.parse_pod

    def with_sidecars(body: dict[str, Any]) -> Pod:
        parsed = parse_pod(body)
        statuses = body.get("status", {}).get("initContainerStatuses", ())
        waits = next((each for each in statuses if waiting_reason(each) in pod_failure.START_FAILURES), None)
        return (
            parsed if waits is None else replace(parsed, container=waits["name"], waiting_reason=waiting_reason(waits))
        )

    put(pods, "parse_pod", with_sidecars)


def waiting_reason(status: dict[str, Any]) -> str:
    """Why a container waits; empty if it does not."""
    return str((status.get("state", {}).get("waiting") or {}).get("reason", ""))


def _claims() -> None:
    async def forgotten(*_: object) -> None:
        return None

    put(ClaimWriter, "create", forgotten)


def _claims_of_ended_runs() -> None:
    put(volume_claims, "deleted_at_end", lambda _: ())


def _kept_claims() -> None:
    put(volume_claims, "deleted_at_end", lambda workflow: tuple(volume_claims.claim_names(workflow).values()))


MUTANTS = tuple(
    Mutant(name=name, without=without, switch=switch, first_seed=FIRST_SEED)
    for name, without, switch in (
        ("results of all steps", "the result of steps is that of the last one", _results),
        ("exit code as a result", "an exit code other than 0 fails a task whose result it is", _exit_code),
        ("exit code of a signal", "the end by a signal is a result", _signal),
        ("failed container", "the exit code of an init container is that of the task", _failed_container),
        ("sidecar of a running task", "a sidecar that restarts keeps its task from starting", _sidecar_end),
        ("claim before its pod", "a pod is created without the volumes of its run", _claims),
        ("volumes of an ended run", "the volumes of a run stay after its end", _claims_of_ended_runs),
        ("kept volumes", "the end of a run deletes each of its volumes", _kept_claims),
    )
)
