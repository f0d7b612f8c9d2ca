"""The method of Google Secret Manager that reads a secret, over gRPC with TLS, by Google's protocol buffers."""

from collections.abc import Mapping
from concurrent import futures
from typing import Any

import grpc
from google.cloud.secretmanager_v1.types import AccessSecretVersionRequest, AccessSecretVersionResponse, SecretPayload

_SERVICE = "google.cloud.secretmanager.v1.SecretManagerService"
PROJECT = "p"


class SecretManagerServer:
    """The secrets of a project by name."""

    def __init__(self, secrets: Mapping[str, str], private_key: bytes, certificate: bytes) -> None:
        self._secrets = secrets
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
        handler = grpc.unary_unary_rpc_method_handler(
            self._access,
            request_deserializer=AccessSecretVersionRequest.deserialize,
            response_serializer=AccessSecretVersionResponse.serialize,
        )
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(_SERVICE, {"AccessSecretVersion": handler}),)
        )
        credentials = grpc.ssl_server_credentials([(private_key, certificate)])
        self.address = f"127.0.0.1:{self._server.add_secure_port('127.0.0.1:0', credentials)}"
        self._server.start()

    def close(self) -> None:
        """Stop."""
        self._server.stop(grace=None)

    def _access(self, request: Any, context: Any) -> Any:
        _, project, _, name, _, _ = request.name.split("/")
        if not dict(context.invocation_metadata()).get("authorization", "").startswith("Bearer "):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "no token")
        if project != PROJECT or name not in self._secrets:
            context.abort(grpc.StatusCode.NOT_FOUND, f"Secret [{request.name}] not found")
        payload = SecretPayload(data=self._secrets[name].encode())
        return AccessSecretVersionResponse(name=request.name, payload=payload)
