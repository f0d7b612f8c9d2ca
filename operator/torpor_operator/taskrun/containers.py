"""Container tasks: the operator claims for the pod, and reads the outcome from it.

The pod is created with a scheduling gate. The claim stores the pod's uid, and only then is the gate removed: a second
pod of the segment, created by a stale operator, never runs. A finalizer keeps the pod until its outcome is stored.
"""

from typing import assert_never

from torpor_wire import canonical, deadline, names, retry, transitions, trigger
from torpor_wire.enums import ProgramResult
from torpor_wire.reason import Reason
from torpor_wire.secret_ref import SecretRef
from torpor_wire.state import TERMINAL, State
from torpor_wire.transitions import Claim

from torpor_operator.model.actions import PatchTaskRun, RemovePodFinalizer, RemoveSchedulingGate
from torpor_operator.model.pod import Pod, pod_name
from torpor_operator.model.step_parts import CombineSteps, StepsCombined, StepsNotCombined
from torpor_operator.taskrun import step
from torpor_operator.taskrun.outcomes import container_outcome, message_share, step_results, wrapper_outcome
from torpor_operator.taskrun.outcomes.container_outcome import (
    TERMINATION_MAX,
    ArchivedResult,
    ContainerDeferral,
    ContainerFailure,
    ContainerOutcome,
    ContainerResult,
    ContainerSkip,
    DocumentRules,
    InvalidOutcome,
)
from torpor_operator.taskrun.outcomes.step_results import LargeStepResults
from torpor_operator.taskrun.step import NOTHING, Step, TaskRunView, deadline_of_attempt

CLAIMANT = "operator"
_COMBINE_SECONDS, _COMBINE_PAUSE = 900.0, 10.0
"""How long the results of steps wait for an archive that is away, and the pause between two requests."""
_EXIT_CODE_MAX = 125
RESUME = "resume"
"""`next.onTimeout` of a container, which is not a name: the program itself resumes."""


def claim(view: TaskRunView, pod: Pod) -> Step:
    """Move Scheduled to Running for a pod that is still gated."""
    claimant = Claim(pod=pod.name, pod_uid=pod.uid, nonce=CLAIMANT)
    pin, started = view.taskrun.pin(launch=True), view.taskrun.status.started_at
    return _patch(view, transitions.claim(pin, claimant, started=started, now=view.now))


def remove_gate(pod: Pod) -> Step:
    """Let the pod be scheduled, since its claim is stored, and tell its programs their share of the outcome."""
    shares = bool(pod.outcome_nonce) and pod.message_max < TERMINATION_MAX
    action = RemoveSchedulingGate(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        gates=pod.gates,
        outcome_max=pod.message_max - 1 if shares else None,
    )
    return Step(actions=(action,))


def has_outcome(view: TaskRunView, pod: Pod) -> bool:
    """Whether the program of an ended pod has an outcome: after exit code 0, or any where the exit code is the result.

    A shell reports an end by a signal, and a program that cannot be started, as codes above 125. The exit code of a
    program that a deletion of its pod stopped is no result.
    """
    program = view.taskrun.spec.container
    if program is None or pod.exit_code is None or pod.container:
        return False
    is_whole = pod.exited and not pod.disrupted and not pod.stopped_by_deletion
    is_result = program.result is ProgramResult.EXIT_CODE and is_whole
    return pod.exit_code == 0 or (is_result and pod.exit_code <= _EXIT_CODE_MAX)


def end(view: TaskRunView, pod: Pod) -> Step:
    """Store the outcome of the program, which it wrote to the termination message, or its exit code.

    An invalid one fails the TaskRun without a retry: the work is done, and it would write the same message again.
    """
    pin, program = view.taskrun.pin(launch=True), view.taskrun.spec.container
    outcome = _outcome(view, pod)
    if program is not None and program.result is ProgramResult.EXIT_CODE:
        files = outcome.files if isinstance(outcome, ContainerResult) and pod.exit_code == 0 else ()
        outcome = ContainerResult(text=str(pod.exit_code), files=files)
    match outcome:
        case LargeStepResults() as large:
            return _combine(view, pod, large)
        case ContainerResult(text=text, files=files):
            described = tuple(file.to_json() for file in files)
            return _patch(view, transitions.succeed(pin, text, files=described, now=view.now))
        case ArchivedResult(stored=stored, files=files):
            described = tuple(file.to_json() for file in files)
            archived = stored.to_json()
            return _patch(view, transitions.succeed(pin, None, stored=archived, files=described, now=view.now))
        case ContainerDeferral() as deferral:
            return _defer(view, deferral)
        case ContainerSkip(message=message):
            return _patch(view, transitions.skip(pin, message=message, now=view.now))
        case ContainerFailure(message=message, retryable=retryable):
            policy = None if retryable else retry.Policy()
            return step.fail(view, Reason.ERROR, message, policy, exit_code=pod.exit_code)
        case InvalidOutcome(reason=reason, message=message):
            return step.fail(view, reason, message, policy=retry.Policy())
        case other:
            assert_never(other)


def _combine(view: TaskRunView, pod: Pod, large: LargeStepResults) -> Step:
    """Store the results of steps as one result, which the archive makes. It may be away for a while."""
    metadata = view.taskrun.metadata
    need = CombineSteps(namespace=metadata.namespace, taskrun=metadata.name, uid=metadata.uid, parts=large.parts)
    match view.known.get(need):
        case StepsCombined(stored=stored):
            described = tuple(file.to_json() for file in large.files)
            pin = view.taskrun.pin(launch=True)
            succeed = transitions.succeed(pin, None, stored=stored.to_json(), files=described, now=view.now)
            return _patch(view, succeed)
        case StepsNotCombined(message=message, is_final=True):
            text = f"the results of the steps cannot be stored: {message}"
            return step.fail(view, Reason.RESULT_INVALID, text, policy=retry.Policy())
        case StepsNotCombined(message=message):
            if view.now >= pod.ended_at + _COMBINE_SECONDS:
                text = f"the archive did not store the results of the steps: {message}"
                return step.fail(view, Reason.RESULT_NOT_STORED, text)
            return Step(again_at=view.now + _COMBINE_PAUSE)
        case _:
            return Step(needs=(need,))


def _outcome(view: TaskRunView, pod: Pod) -> ContainerOutcome | LargeStepResults:
    program = view.taskrun.spec.container
    if (cut := message_share.cut_message(pod.termination_message, pod.message_max)) is not None:
        return cut
    rules = _document_rules(view, pod)
    if program is not None and program.main.is_wrapped:
        outputs = frozenset[str]() if rules is None else rules.outputs
        outcome = wrapper_outcome.parse(pod.termination_message, pod.outcome_nonce, outputs)
    else:
        outcome = container_outcome.parse(pod.termination_message, rules)
    return step_results.combined(program, pod, outcome) if program is not None and program.steps else outcome


def _document_rules(view: TaskRunView, pod: Pod) -> DocumentRules | None:
    """The rules of the documents of the program and of its wrapper; None if neither writes any."""
    program, files = view.taskrun.spec.container, view.taskrun.spec.files
    outputs = frozenset(output.name for output in files.out) if files else frozenset()
    if program is None or not (program.writes_outcomes or outputs):
        return None
    secrets = frozenset(SecretRef(secret.name, secret.key) for secret in program.trigger_secrets)
    return DocumentRules(nonce=pod.outcome_nonce, secrets=secrets, outputs=outputs, of_program=program.writes_outcomes)


def _defer(view: TaskRunView, deferral: ContainerDeferral) -> Step:
    """Store the trigger of a container, as the pod of a python task does by itself."""
    spec = view.taskrun.spec
    try:
        stored = step.build_trigger(view, deferral.class_name, deferral.kwargs)
    except trigger.TriggerError as error:
        return step.fail(view, Reason.DEFERRAL_INVALID, str(error), policy=retry.Policy())
    due = deadline.deferral_deadline(
        timeout=deferral.timeout,
        attempt_deadline=deadline_of_attempt(view) if spec.timeout_while_deferred else None,
        now=view.now,
    )
    resume: dict[str, canonical.Json] = {"method": "", "kwargs": deferral.state}
    if deferral.resumes_on_timeout:
        resume["onTimeout"] = RESUME
    pin = view.taskrun.pin(launch=True)
    return _patch(view, transitions.defer(pin, stored, resume=resume, deadline=due, now=view.now))


def _patch(view: TaskRunView, patch: transitions.Patch) -> Step:
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def remove_finalizers(view: TaskRunView) -> Step:
    """Remove the finalizers of pods whose outcome is stored, or that will have none."""
    stored = [pod for pod in view.pods if pod.has_finalizer and _outcome_is_stored(view, pod)]
    return Step(actions=tuple(map(remove_finalizer, stored))) if stored else NOTHING


def remove_finalizer(pod: Pod) -> RemovePodFinalizer:
    """The action that removes the pod's finalizer."""
    return RemovePodFinalizer(namespace=pod.namespace, name=pod.name, uid=pod.uid, finalizers=pod.finalizers)


def _outcome_is_stored(view: TaskRunView, pod: Pod) -> bool:
    """Whether no outcome of the pod remains to be stored, even if the cache shows the TaskRun later than its pods.

    A pod of a later attempt, segment or launch than the TaskRun's was claimed since; so was one without its gate while
    the TaskRun is still Scheduled in the cache. Their outcome is unknown.
    """
    status = view.taskrun.status
    if status.state in TERMINAL:
        return True
    if view.taskrun.metadata.deletion_timestamp is not None:
        return pod.terminal or pod.gated
    if _numbers(pod) > (status.attempt, status.segment, status.launch):
        return False
    match status.state:
        case State.RUNNING:
            return status.pod is None or status.pod.uid != pod.uid
        case State.SCHEDULED:
            return pod.name != pod_name(view.taskrun) or (pod.deleting and pod.gated)
        case _:
            return True


def _numbers(pod: Pod) -> tuple[int, int, int]:
    """Attempt, segment and launch from the pod's name; zeros for a name that Torpor does not write."""
    return names.pod_numbers(pod.name) or (0, 0, 0)
