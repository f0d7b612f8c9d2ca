"""The PersistentVolumeClaims of a run: their names and bodies, and which are deleted at its end. Pure (ADR 0062)."""

from collections.abc import Iterable, Mapping
from typing import Any

from torpor_crds.models.volume_claim import VolumeClaim
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants, names
from torpor_wire.enums import AccessMode, ClaimDeletion
from torpor_wire.state import RunState

Object = dict[str, Any]


def claim_names(workflow: Workflow) -> Mapping[str, str]:
    """By name of each volume of the run: the name of its claim."""
    metadata = workflow.metadata
    return {claim.name: names.claim(metadata.name, metadata.uid, claim.name) for claim in workflow.spec.volume_claims}


def used_claims(workflow: Workflow, pod: Mapping[str, Any]) -> tuple[Object, ...]:
    """The bodies of the claims that a pod mounts."""
    volumes: Iterable[Mapping[str, Any]] = pod["spec"].get("volumes", ())
    mounted = {(volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in volumes}
    known = claim_names(workflow)
    return tuple(
        _body(workflow, claim, known[claim.name])
        for claim in workflow.spec.volume_claims
        if known[claim.name] in mounted
    )


def deleted_at_end(workflow: Workflow) -> tuple[str, ...]:
    """The names of the claims that are deleted now that the run has ended. The end of their Workflow deletes others."""
    known, succeeded = claim_names(workflow), workflow.status.state == RunState.SUCCEEDED
    ended = {ClaimDeletion.AT_END} | ({ClaimDeletion.AFTER_SUCCESS} if succeeded else set())
    return tuple(known[claim.name] for claim in workflow.spec.volume_claims if claim.deletion in ended)


def _body(workflow: Workflow, claim: VolumeClaim, name: str) -> Object:
    metadata = workflow.metadata
    owner = {
        "apiVersion": constants.API_VERSION,
        "kind": "Workflow",
        "name": metadata.name,
        "uid": metadata.uid,
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": metadata.namespace,
            "labels": {
                constants.LABEL_WORKFLOW: names.label(metadata.name),
                constants.LABEL_WORKFLOW_UID: metadata.uid,
            },
            "ownerReferences": [] if claim.deletion is ClaimDeletion.NEVER else [owner],
        },
        "spec": _spec(claim),
    }


def _spec(claim: VolumeClaim) -> Object:
    storage_class = {} if claim.storage_class_name is None else {"storageClassName": claim.storage_class_name}
    return {
        "accessModes": list(claim.access_modes) or [AccessMode.READ_WRITE_ONCE],
        "resources": {"requests": {"storage": claim.size}},
        **storage_class,
    }
