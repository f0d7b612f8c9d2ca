"""Reads the Secrets that triggers refer to, for ServiceAccounts that may read them.

The triggerer's own rights are those of its installation; a TaskRun has those of its ServiceAccount. So each read starts
with a review whether that account may `get` the Secret. A missing Secret may be created later, as for a pod.
"""

import asyncio
import base64
import binascii
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import ACCESS_REVIEWS, SECRETS
from torpor_wire.names import is_object_name
from torpor_wire.reason import Reason

from torpor_triggerer.model.outcome import Failed

DENIED_AGAIN = (1.0, 3.0)
"""Seconds before a denial is reviewed again: roles may come with the Workflow, or an API server is starting."""


class SecretKeyRef(NamedTuple):
    """A key of a Secret."""

    name: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingSecret:
    """What does not exist yet, as a message."""

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
            for name in sorted({reference.name for reference in references}):
                data = await self._data(reader, name)
                if not isinstance(data, Mapping):
                    return data
                for reference in (candidate for candidate in references if candidate.name == name):
                    text = _text(data, reference)
                    if not isinstance(text, str):
                        return text
                    texts[reference] = text
        except errors.ApiError as error:
            return MissingSecret(message=f"failed to read a Secret: {error.message}")
        return texts

    async def _data(self, reader: SecretAccount, name: str) -> Mapping[str, Any] | MissingSecret | Failed:
        denied = await self._denied(reader, name)
        if denied is not None:
            return denied
        try:
            async with self._slots:
                secret = await self._api.get(SECRETS, reader.namespace, name)
        except errors.NotFound:
            return MissingSecret(message=f"Secret {name} does not exist in namespace {reader.namespace}")
        except errors.Forbidden as error:
            return _forbidden(
                f"the triggerer may not read Secrets of namespace {reader.namespace}: add manifests/components/secrets "
                f"(components: [../components/secrets]) to the kustomization that installs it ({error.message})"
            )
        return secret.get("data") or {}

    async def _denied(self, reader: SecretAccount, name: str) -> Failed | None:
        for pause in (*DENIED_AGAIN, None):
            try:
                if await self._may(reader, name):
                    return None
            except errors.Forbidden as error:
                return _forbidden(f"the triggerer may not create SubjectAccessReviews: {error.message}")
            if pause is not None:
                await self._api.clock.sleep(pause)
        return _forbidden(
            f"ServiceAccount {reader.account} may not get Secret {name} in namespace {reader.namespace}, which its "
            f"trigger refers to.{commands(reader, name)}"
        )

    async def _may(self, reader: SecretAccount, name: str) -> bool:
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
                "resource": "secrets",
                "name": name,
            },
        }
        body = {"apiVersion": ACCESS_REVIEWS.api_version, "kind": ACCESS_REVIEWS.kind, "spec": spec}
        async with self._slots:
            status = (await self._api.create(ACCESS_REVIEWS, None, body)).get("status") or {}
        return status.get("allowed") is True


def commands(reader: SecretAccount, name: str) -> str:
    """Return the commands that grant the access; empty if the names are unsafe for a shell."""
    namespace, account = reader
    if not (is_object_name(account) and is_object_name(name)):
        return ""
    return (
        f" To allow it: kubectl -n {namespace} create role read-{name} --verb=get --resource=secrets "
        f"--resource-name={name}, and kubectl -n {namespace} create rolebinding read-{name} --role=read-{name} "
        f"--serviceaccount={namespace}:{account}"
    )


def _text(data: Mapping[str, Any], reference: SecretKeyRef) -> str | MissingSecret | Failed:
    if reference.key not in data:
        return MissingSecret(message=f"Secret {reference.name} has no key {reference.key}")
    try:
        return base64.b64decode(data[reference.key], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        message = f"key {reference.key} of Secret {reference.name} is not text in UTF-8"
        return Failed(reason=Reason.TRIGGER_INVALID, message=message)


def _forbidden(message: str) -> Failed:
    return Failed(reason=Reason.SECRET_FORBIDDEN, message=message)
