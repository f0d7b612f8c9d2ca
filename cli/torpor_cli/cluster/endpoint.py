"""The access of a kubeconfig as the endpoint of the asynchronous client, for `torpor ui`."""

import asyncio
import ssl

from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.endpoint import ClusterEndpoint

from torpor_cli.cluster import credentials, http
from torpor_cli.cluster.access import Access, TokenFile
from torpor_cli.errors import CliError


class RenewedCredentials:
    """The credentials of a login, which are obtained again when the API server rejects them."""

    def __init__(self, access: Access) -> None:
        self._login = access.login
        self._lock = asyncio.Lock()
        self.current = credentials.obtain(access.login)

    async def authorization(self) -> str | None:
        """Return the header Authorization. A token file is read each time, because another process renews it."""
        if isinstance(self._login, TokenFile):
            await self.renew()
        return self.current.authorization

    async def renew(self) -> bool:
        """Obtain the credentials again, and return whether they differ. An exec plugin runs in a thread."""
        before = self.current
        async with self._lock:
            if self.current is before:
                try:
                    self.current = await asyncio.to_thread(credentials.obtain, self._login)
                except CliError as error:
                    raise api_errors.Unreachable(str(error)) from error
        return self.current.authorization != before.authorization


def endpoint_of(access: Access) -> ClusterEndpoint:
    """Return the endpoint of an access. Runs the exec plugin of the kubeconfig. Raises CliError."""
    renewed = RenewedCredentials(access)
    server = access.server
    return ClusterEndpoint(
        host=server.url,
        tls=_tls(access, renewed),
        authorization=renewed.authorization,
        renew=renewed.renew,
        fields=_impersonation(access),
        server_name=server.server_name,
        proxy=server.proxy or http.environment_proxy(server.url),
    )


def _tls(access: Access, renewed: RenewedCredentials) -> ssl.SSLContext | None:
    if not access.server.url.startswith("https:"):
        return None
    return http.tls_context(access.server, renewed.current.certificate)


def _impersonation(access: Access) -> tuple[tuple[str, str], ...]:
    user = (("Impersonate-User", access.as_user),) if access.as_user else ()
    return (*user, *(("Impersonate-Group", group) for group in access.as_groups))
