"""Tokens as the API server issues them to pods, without a signature."""

import base64
import json


def bound_to(pod_uid: str) -> str:
    """A ServiceAccount token that is bound to a pod."""
    parts = ({"alg": "RS256"}, {"aud": ["api"], "kubernetes.io": {"namespace": "default", "pod": {"uid": pod_uid}}})
    head, claims = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return f"{head}.{claims}.c2lnbmF0dXJl"
