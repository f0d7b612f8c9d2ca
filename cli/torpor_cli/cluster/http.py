"""The HTTP client: every request of a command goes through it. TLS, credentials, proxies and impersonation.

Retries what the server did not process (429), and repeats a request once with new credentials after 401.
"""

import json
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import urllib3
from urllib3.exceptions import HTTPError, InsecureRequestWarning

from torpor_cli.cluster import credentials, errors
from torpor_cli.cluster.access import Access, Certificate, ServerEndpoint
from torpor_cli.errors import CliError

CONNECT_S = 10.0
READ_S = 60.0
STREAM_S = 3600.0
_RETRIES = 4
_PAUSE_MAX_S = 5.0
_CONNECTIONS = 8


class HttpClient:
    """Sends requests to one API server as one user. Threads may share it."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._credentials = credentials.obtain(access.login)
        self._pool = _pool(access.server, self._credentials.certificate)

    def request(  # noqa: PLR0913 - the parts of an HTTP request
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        read_timeout: float = READ_S,
    ) -> urllib3.BaseHTTPResponse:
        """Send a request and return the response, whose body is not read yet. Raises ClusterError.

        `read_timeout` is in seconds between two pieces of the body.
        """
        content = None if body is None else json.dumps(body).encode()
        fields = {"Accept": "application/json", "Content-Type": "application/json", **(headers or {})}
        for attempt in range(_RETRIES + 1):
            response = self._sent(method, path, query, content, fields, read_timeout)
            if response.status < HTTPStatus.BAD_REQUEST:
                return response
            error = self._error(response)
            if attempt == _RETRIES or not self._may_repeat(error, attempt):
                raise error
        raise AssertionError("the last attempt returns or raises")

    def json(self, method: str, path: str, **parts: Any) -> Any:
        """Send a request and return the JSON of the response. Raises ClusterError."""
        response = self.request(method, path, **parts)
        try:
            return json.loads(response.data)
        except HTTPError as error:
            raise self._unreachable(error) from error
        except RecursionError as error:
            raise CliError("an object of the response is nested too deeply to be read") from error
        except ValueError as error:
            raise errors.unreachable(self.access.place, self.access.server.url, "the response is not JSON") from error

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        read_timeout: float = STREAM_S,
    ) -> Iterator[bytes]:
        """Yield the bytes of a response as they arrive, such as those of `pods/log`. Raises ClusterError."""
        merged = {"Accept": "*/*", **(headers or {})}
        response = self.request("GET", path, query=query, headers=merged, read_timeout=read_timeout)
        try:
            while chunk := response.read1(65_536):
                yield chunk
        except HTTPError as error:
            raise self._unreachable(error) from error
        finally:
            response.close()

    def lines(self, path: str, **parts: Any) -> Iterator[bytes]:
        """Yield the lines of a response as they arrive, without their ends. Raises ClusterError."""
        return split_lines(self.stream(path, **parts))

    def _unreachable(self, error: HTTPError) -> errors.UnavailableError:
        """Translate a failure of the network."""
        cause = getattr(error, "reason", None) or error
        text = " ".join(str(cause).split()).rpartition(">: ")[2]
        return errors.unreachable(self.access.place, self.access.server.url, text.rpartition("): ")[2] or text)

    def _sent(  # noqa: PLR0913, PLR0917 - see request
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        content: bytes | None,
        headers: Mapping[str, str],
        read_timeout: float,
    ) -> urllib3.BaseHTTPResponse:
        from urllib.parse import urlencode  # noqa: PLC0415 - urllib3 has imported it

        url = self.access.server.url + path + (f"?{urlencode(query, doseq=True)}" if query else "")
        try:
            return self._pool.request(
                method,
                url,
                body=content,
                headers=self._headers(headers),
                timeout=urllib3.Timeout(connect=CONNECT_S, read=read_timeout),
                preload_content=False,
                redirect=False,
                retries=False,
            )
        except HTTPError as error:
            raise self._unreachable(error) from error

    def _headers(self, more: Mapping[str, str]) -> "urllib3.HTTPHeaderDict":
        headers = urllib3.HTTPHeaderDict({"User-Agent": "torpor-cli", **more})
        if self._credentials.authorization:
            headers["Authorization"] = self._credentials.authorization
        if self.access.as_user:
            headers["Impersonate-User"] = self.access.as_user
        for group in self.access.as_groups:
            headers.add("Impersonate-Group", group)
        return headers

    def _error(self, response: urllib3.BaseHTTPResponse) -> errors.ClusterError:
        try:
            content = response.data
        except HTTPError as error:
            return self._unreachable(error)
        try:
            body: Any = json.loads(content)
        except (ValueError, RecursionError):
            body = content[:1000].decode(errors="replace")
        wait = response.headers.get("Retry-After", "")
        after = float(wait) if wait.isdigit() else None
        return errors.from_response(response.status, body, place=self.access.place, retry_after=after)

    def _may_repeat(self, error: errors.ClusterError, attempt: int) -> bool:
        """Prepare a repetition: wait after 429, obtain credentials anew after 401. False if it would not help."""
        if error.status == HTTPStatus.TOO_MANY_REQUESTS:
            time.sleep(min(error.retry_after or 1.0, _PAUSE_MAX_S))
            return True
        if error.status == HTTPStatus.UNAUTHORIZED and attempt == 0 and self._credentials.token:
            before, self._credentials = self._credentials, credentials.obtain(self.access.login)
            return before.token != self._credentials.token
        return False


def pages(fetch: Callable[[Mapping[str, str]], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the pages of a list as they are consumed. `fetch` gets the parameters that continue the list."""
    token = ""
    while True:
        page = fetch({"continue": token} if token else {})
        yield page
        token = page.get("continue") or (page.get("metadata") or {}).get("continue") or ""
        if not token:
            return


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of chunks, without their ends. Pure."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    if rest:
        yield rest


def _pool(server: ServerEndpoint, certificate: Certificate | None) -> urllib3.PoolManager:
    options: dict[str, Any] = {"num_pools": 2, "maxsize": _CONNECTIONS, "block": False}
    if server.url.startswith("https:"):
        options["ssl_context"] = tls_context(server, certificate)
        if server.server_name:
            options |= {"server_hostname": server.server_name, "assert_hostname": server.server_name}
        if server.insecure:
            options |= {"cert_reqs": "CERT_NONE", "assert_hostname": False}
            urllib3.disable_warnings(InsecureRequestWarning)  # the user decided; kubectl prints no warning either
    proxy = server.proxy or environment_proxy(server.url)
    if not proxy:
        return urllib3.PoolManager(**options)
    if not proxy.startswith(("http://", "https://")):
        raise CliError(f"the proxy {proxy} is not supported; use an http or https proxy")
    return urllib3.ProxyManager(proxy, **options)


def environment_proxy(url: str) -> str | None:
    """Return the proxy of HTTPS_PROXY and NO_PROXY, None if there is none."""
    if not any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")):
        return None
    from urllib.parse import urlsplit  # noqa: PLC0415 - urllib3 has imported it
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - costs a start without a proxy 20 ms

    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def tls_context(server: ServerEndpoint, certificate: Certificate | None) -> ssl.SSLContext:
    """Return the TLS context. Raises CliError for unreadable certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if server.insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        elif server.ca:
            context.load_verify_locations(cadata=server.ca.read().decode("ascii", "ignore"))
        else:
            context.load_default_certs()
        if certificate:
            _load_certificate(context, certificate)
    except (OSError, ssl.SSLError) as error:
        raise CliError(f"a certificate of the kubeconfig cannot be read: {error}; log in again") from error
    return context


def _load_certificate(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Load a client certificate through a private file, because OpenSSL takes no other form here."""
    with tempfile.NamedTemporaryFile() as file:  # mode 0600, deleted at the end
        file.write(certificate.certificate.read() + b"\n" + certificate.key.read())
        file.flush()
        context.load_cert_chain(file.name)
