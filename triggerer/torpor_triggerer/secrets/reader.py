"""Reads the Secrets and ConfigMaps that triggers refer to, for ServiceAccounts that may read them.

The triggerer's own rights are those of its installation; a TaskRun has those of its ServiceAccount. So each read starts
with a review whether that account may `get` the object. A missing one may be created later, as for a pod.
"""

import asyncio
import base64
import binascii
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import ACCESS_REVIEWS, CONFIG_MAPS, SECRETS
from torpor_wire.names import is_object_name
from torpor_wire.reason import Reason

from torpor_triggerer.model.outcome import Failed

DENIED_AGAIN = (1.0, 3.0)
"""Seconds before a denial is reviewed again: roles may come with the Workflow, or an API server is starting."""


_RESOURCES = {each.kind: each for each in (SECRETS, CONFIG_MAPS)}


class SecretKeyRef(NamedTuple):
    """A key of a Secret, or of another `kind`: of a ConfigMap."""

    name: str
    key: str
    kind: str = SECRETS.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingSecret:
    """What does not exist yet, as a message: a Secret, a ConfigMap, or a key."""

    message: str


class SecretAccount(NamedTuple):
    """The ServiceAccount that reads, in the namespace of the Secrets."""

    namespace: str
    account: str


Texts: TypeAlias = Mapping[SecretKeyRef, str]


class SecretReader:
    """Reviews and reads, with `concurrency` requests at a time."""

    def __init__(self, api: Api, *, concurrency: int = 16) -> None:
        self._api = api
        self._slots = asyncio.Semaphore(concurrency)

    async def read(self, reader: SecretAccount, references: Collection[SecretKeyRef]) -> Texts | MissingSecret | Failed:
        """Return the texts of these keys, the one that is missing, or the reason why they may not be read."""
        texts: dict[SecretKeyRef, str] = {}
        try:
            for kind, name in sorted({(reference.kind, reference.name) for reference in references}):
                data = await self._data(reader, kind, name)
                if not isinstance(data, Mapping):
                    return data
                for reference in references:
                    if (reference.kind, reference.name) != (kind, name):
                        continue
                    text = _text(data, reference)
                    if not isinstance(text, str):
                        return text
                    texts[reference] = text
        except errors.ApiError as error:
            return MissingSecret(message=f"failed to read a Secret or a ConfigMap: {error.message}")
        return texts

    async def _data(self, reader: SecretAccount, kind: str, name: str) -> Mapping[str, Any] | MissingSecret | Failed:
        denied = await self._denied(reader, kind, name)
        if denied is not None:
            return denied
        try:
            async with self._slots:
                found = await self._api.get(_RESOURCES[kind], reader.namespace, name)
        except errors.NotFound:
            return MissingSecret(message=f"{kind} {name} does not exist in namespace {reader.namespace}")
        except errors.Forbidden as error:
            return _forbidden(
                f"the triggerer may not read {kind}s of namespace {reader.namespace}: add manifests/components/secrets "
                f"(components: [../components/secrets]) to the kustomization that installs it ({error.message})"
            )
        return found.get("data") or {}

    async def _denied(self, reader: SecretAccount, kind: str, name: str) -> Failed | None:
        for pause in (*DENIED_AGAIN, None):
            try:
                if await self._may(reader, kind, name):
                    return None
            except errors.Forbidden as error:
                return _forbidden(f"the triggerer may not create SubjectAccessReviews: {error.message}")
            if pause is not None:
                await self._api.clock.sleep(pause)
        return _forbidden(
            f"ServiceAccount {reader.account} may not get {kind} {name} in namespace {reader.namespace}, which its "
            f"trigger refers to.{commands(reader, name, kind)}"
        )

    async def _may(self, reader: SecretAccount, kind: str, name: str) -> bool:
        namespace, account = reader
        spec = {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": [
                "system:serviceaccounts",
                f"system:serviceaccounts:{namespace}",
                "system:authenticated",
            ],
            "resourceAttributes": {
                "namespace": namespace,
                "verb": "get",
                "group": "",
                "version": "v1",
                "resource": _RESOURCES[kind].plural,
                "name": name,
            },
        }
        body = {"apiVersion": ACCESS_REVIEWS.api_version, "kind": ACCESS_REVIEWS.kind, "spec": spec}
        async with self._slots:
            status = (await self._api.create(ACCESS_REVIEWS, None, body)).get("status") or {}
        return status.get("allowed") is True


def commands(reader: SecretAccount, name: str, kind: str = SECRETS.kind) -> str:
    """Return the commands that grant the access; empty if the names are unsafe for a shell."""
    namespace, account = reader
    if not (is_object_name(account) and is_object_name(name)):
        return ""
    resource = _RESOURCES[kind].plural
    role = f"read-{name}" if kind == SECRETS.kind else f"read-{kind.lower()}-{name}"
    return (
        f" To allow it: kubectl -n {namespace} create role {role} --verb=get --resource={resource} "
        f"--resource-name={name}, and kubectl -n {namespace} create rolebinding {role} --role={role} "
        f"--serviceaccount={namespace}:{account}"
    )


def _text(data: Mapping[str, Any], reference: SecretKeyRef) -> str | MissingSecret | Failed:
    if reference.key not in data:
        return MissingSecret(message=f"{reference.kind} {reference.name} has no key {reference.key}")
    if reference.kind == CONFIG_MAPS.kind:
        return str(data[reference.key])
    try:
        return base64.b64decode(data[reference.key], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        message = f"key {reference.key} of Secret {reference.name} is not text in UTF-8"
        return Failed(reason=Reason.TRIGGER_INVALID, message=message)


def _forbidden(message: str) -> Failed:
    return Failed(reason=Reason.SECRET_FORBIDDEN, message=message)
