"""The outcome that a container wrote to its termination message: plain text, JSON, or an outcome document (ADR 0038).

The message may be the response of a server, which the program printed. So a document counts only where the author
permits documents, and only with the nonce of the pod, which no data contains (ADR 0049).

Pure and total: each text is an outcome or `InvalidOutcome`. docs/reference/container-protocol.md specifies documents.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from pydantic import ValidationError
from torpor_crds.models.archive import StoredResult
from torpor_crds.models.base import CLASS
from torpor_crds.models.files import StoredFile
from torpor_wire import canonical, constants, secret_ref, times, trigger, typed_json
from torpor_wire.reason import Reason
from torpor_wire.secret_ref import SecretRef

from torpor_operator.taskrun.outcomes import document_fields, secret_places
from torpor_operator.taskrun.outcomes.document_fields import InvalidDocumentError, shown

TERMINATION_MAX = 4096
"""Bytes of a termination message. The kubelet keeps the last 4,096 of a longer one and does not mark the cut."""
MARK: Final = "torpor"
"""The key that makes a JSON object an outcome document. Its value is the version."""
NONCE: Final = "nonce"
_JSON_STARTS = ("{", "[", '"')
_CLASS = re.compile(CLASS["pattern"])
_CLASS_MAX = 253
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SECRETS_HINT = '; a container writes "defer.trigger.secrets": {"/headers/Authorization": {"name": NAME, "key": KEY}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerResult:
    """The result as JSON text; None for an empty message. `files` are the stored outputs."""

    text: str | None
    files: tuple[StoredFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerDeferral:
    """A wait and what follows it. `kwargs` are as they are stored, `state` is JSON text, `timeout` is in seconds."""

    class_name: str
    kwargs: Mapping[str, canonical.Json]
    state: str
    timeout: float | None
    resumes_on_timeout: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerFailure:
    """The program reports a failure."""

    message: str
    retryable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSkip:
    """The program skips its task."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedResult:
    """The result is in the archive. `files` are the stored outputs."""

    stored: StoredResult
    files: tuple[StoredFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidOutcome:
    """Why a termination message is not an outcome, and what to write instead."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRules:
    """What a document of a pod must contain, and which Secrets its deferral may name."""

    nonce: str
    secrets: frozenset[SecretRef] = frozenset()
    outputs: frozenset[str] = frozenset()
    """The files that the wrapper of the program may describe (ADR 0064)."""
    of_program: bool = True
    """Whether the program itself may write documents; otherwise its wrapper alone does."""


ContainerOutcome: TypeAlias = (
    ContainerResult | ContainerDeferral | ContainerFailure | ContainerSkip | ArchivedResult | InvalidOutcome
)


def parse(termination_message: str, rules: DocumentRules | None) -> ContainerOutcome:
    """The outcome of a container that exited with code 0. Without rules it is never a document.

    A JSON object with the key `torpor` is an outcome document. Any other message is the result: JSON if it begins with
    `{`, `[` or `"`, or is a number, true, false or null; otherwise text, which becomes a string.
    """
    content = termination_message.encode(errors="replace")
    if (size := len(content)) >= TERMINATION_MAX:
        return _no_result(
            f"the termination message has {size} bytes, and the kubelet cuts it at {TERMINATION_MAX}: write less than "
            f"{TERMINATION_MAX} bytes to /dev/termination-log, for example the location of the result, or store it "
            "with torpor-tool put (container.tools)"
        )
    text = content.decode().strip()
    if not text:
        return ContainerResult(text=None)
    try:
        parsed = json.loads(text)
        value = canonical.plain(parsed)
    except (ValueError, RecursionError) as error:
        if text.startswith(_JSON_STARTS):
            return _no_result(
                f"the termination message begins with {text[0]} and is not valid JSON ({error}): "
                "write JSON to /dev/termination-log, or text that begins with another character"
            )
        return _result(canonical.plain(text))
    if rules is not None and isinstance(parsed, dict) and MARK in parsed:
        return _document(parsed, rules)
    return _result(value)


def _document(document: dict[str, Any], rules: DocumentRules) -> ContainerOutcome:
    version, nonce = document.pop(MARK), document.pop(NONCE, None)
    if not rules.nonce or nonce != rules.nonce:
        return _no_result(
            f'the message has the key "{MARK}" and not the nonce of its pod: a program adds "{NONCE}" with the value '
            f'of {constants.ENV_OUTCOME_NONCE} to its document, and writes the data of others as its "result"'
        )
    if isinstance(version, bool) or version != constants.PROTOCOL:
        return _no_result(
            f'the key "{MARK}" marks an outcome and must be the version, the number {constants.PROTOCOL}, not '
            f'{shown(version)}: write {{"{MARK}": {constants.PROTOCOL}, "{NONCE}": ..., "result": ...}}'
        )
    try:
        files = document_fields.stored_files(document.pop("files"), rules.outputs) if "files" in document else ()
        outcome = _body(document, rules)
        if isinstance(outcome, ContainerResult | ArchivedResult):
            return replace(outcome, files=files)
        if outcome is not None:
            return outcome
    except InvalidDocumentError as error:
        reason = Reason.DEFERRAL_INVALID if "defer" in document else Reason.RESULT_INVALID
        return InvalidOutcome(reason=reason, message=f"the outcome document is invalid: {error}")
    keys = ", ".join(map(shown, document)) or "no other key"
    return _no_result(
        f'the outcome document has {keys} beside "{MARK}": write exactly one of "result", "defer", "fail" and "skip"'
    )


def _body(document: Mapping[str, Any], rules: DocumentRules) -> ContainerOutcome | None:
    """The outcome in a document. None if its keys are not those of one outcome."""
    match document:
        case {"result": result, **rest} if not rest:
            return _result(canonical.plain(result))
        case {"defer": body, **rest} if not rest:
            return _deferral(body, rules.secrets)
        case {"fail": body, **rest} if not rest:
            return _failure(body)
        case {"skip": body, **rest} if not rest:
            return _skip(body)
        case {"archived": body, **rest} if not rest:
            return _archived(body)
        case {"message": str(message), **rest} if not rest and rules.outputs:
            return parse(message, replace(rules, outputs=frozenset()) if rules.of_program else None)
        case _:
            return None


def _result(text: str) -> ContainerResult | InvalidOutcome:
    if (size := len(text.encode())) > constants.RESULT_MAX:
        return _no_result(f"the result has {size} bytes as JSON; the limit is {constants.RESULT_MAX}")
    return ContainerResult(text=text)


def _deferral(body: object, secrets: frozenset[SecretRef]) -> ContainerDeferral:
    fields = document_fields.object_with(body, '"defer"', {"trigger", "state", "timeout", "onTimeout"})
    call = document_fields.object_with(fields.get("trigger"), '"defer.trigger"', {"class", "kwargs", "secrets"})
    timeout, on_timeout = fields.get("timeout"), fields.get("onTimeout")
    if on_timeout is not None and on_timeout != "resume":
        raise InvalidDocumentError(
            f'"defer.onTimeout" is {shown(on_timeout)}: write "resume", or omit it so that a timeout fails the task'
        )
    if on_timeout is not None and timeout is None:
        raise InvalidDocumentError('"defer.onTimeout" requires "defer.timeout"')
    return ContainerDeferral(
        class_name=_class_name(call.get("class")),
        kwargs=_kwargs(call, secrets),
        state=_state(fields.get("state")),
        timeout=_seconds(timeout),
        resumes_on_timeout=on_timeout is not None,
    )


def _class_name(name: object) -> str:
    if not isinstance(name, str) or len(name) > _CLASS_MAX or not _CLASS.fullmatch(name):
        raise InvalidDocumentError(
            f'"defer.trigger.class" is {shown(name)}: write the name of a trigger class, such as "http"'
        )
    return name


def _kwargs(call: Mapping[str, Any], permitted: frozenset[SecretRef]) -> Mapping[str, canonical.Json]:
    """The keyword arguments with references to Secrets, encoded as a python task encodes them: data stays data."""
    kwargs = call.get("kwargs", {})
    if not isinstance(kwargs, dict):
        raise InvalidDocumentError(f'"defer.trigger.kwargs" is {shown(kwargs)}: write a JSON object')
    if (plain := secret_places.unsealed(kwargs)) is not None:
        raise InvalidDocumentError(
            f"the argument {shown(plain)} of the trigger is not sealed, and a container cannot seal it: "
            f'remove {trigger.SEALED} and refer to a Secret in "defer.trigger.secrets"'
        )
    try:
        encoded = typed_json.encode(secret_places.put(kwargs, call.get("secrets"), permitted))
        secret_ref.references(encoded)
    except ValueError as error:
        raise InvalidDocumentError(f"{error}{_SECRETS_HINT if 'secretRef' in str(error) else ''}") from error
    except RecursionError as error:
        raise InvalidDocumentError('"defer.trigger.kwargs" is nested too deeply') from error
    sealed: Mapping[str, canonical.Json] = encoded
    return sealed


def _state(value: object) -> str:
    text = canonical.plain(value)
    if (size := len(text.encode())) > constants.NEXT_MAX:
        raise InvalidDocumentError(
            f'"defer.state" has {size} bytes as JSON; the limit is {constants.NEXT_MAX}: store the data elsewhere and '
            "write its location"
        )
    return text


def _seconds(timeout: object) -> float | None:
    if timeout is None:
        return None
    try:
        if not isinstance(timeout, str):
            raise ValueError(f"{shown(timeout)} is not a duration; write 30s, 5m, 1h30m or 7d as text")  # noqa: TRY004 - data
        return times.seconds(timeout)
    except ValueError as error:
        raise InvalidDocumentError(f'"defer.timeout": {error}') from error


def _failure(body: object) -> ContainerFailure:
    fields = document_fields.object_with(body, '"fail"', {"message", "retryable"})
    message, retryable = fields.get("message"), fields.get("retryable", True)
    if not isinstance(message, str) or not message.strip():
        raise InvalidDocumentError(f'"fail.message" is {shown(message)}: write the cause as text')
    if not isinstance(retryable, bool):
        raise InvalidDocumentError(f'"fail.retryable" is {shown(retryable)}: write true or false')
    return ContainerFailure(message=message, retryable=retryable)


def _skip(body: object) -> ContainerSkip:
    message = document_fields.object_with(body, '"skip"', {"message"}).get("message", "the task skipped itself")
    if not isinstance(message, str):
        raise InvalidDocumentError(f'"skip.message" is {shown(message)}: write text')
    return ContainerSkip(message=message)


def _archived(body: object) -> ArchivedResult:
    fields = document_fields.object_with(body, '"archived"', set(StoredResult.model_fields))
    digest = fields.get("digest")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):  # readers build a URL from it
        raise InvalidDocumentError(
            f'"archived.digest" is {shown(digest)}: torpor-tool writes the SHA-256 in hexadecimal'
        )
    try:
        return ArchivedResult(stored=StoredResult.model_validate(fields, strict=True))
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise InvalidDocumentError(
            f'"archived.{place}": {error.errors()[0]["msg"]}; torpor-tool writes this key'
        ) from error


def _no_result(message: str) -> InvalidOutcome:
    return InvalidOutcome(reason=Reason.RESULT_INVALID, message=message)
