"""Builds the login that the settings choose."""

import ssl

from torpor_ui.sessions.oidc import OidcLogin
from torpor_ui.sessions.oidc_provider import OidcClient, OidcProvider
from torpor_ui.sessions.pasted import PastedTokenLogin
from torpor_ui.sessions.proxy import ProxyLogin
from torpor_ui.sessions.sealed_cookie import SealedCookie
from torpor_ui.sessions.secret import ServerSecret
from torpor_ui.sessions.session import Cookie, Login
from torpor_ui.settings import PageSettings

LOGIN_SECONDS = 600
_HOUR = 3600


def build(settings: PageSettings, secret: ServerSecret) -> Login:
    """Return the login. Raises OSError for a file that cannot be read."""
    prefix = "__Secure-" if settings.secure else ""
    cookie = SealedCookie(
        secret=secret,
        name=f"{prefix}torpor-session",
        path=settings.base,
        secure=settings.secure,
        seconds=settings.session_hours * _HOUR,
    )
    match settings.mode:
        case "proxy":
            browser = Cookie(name=f"{prefix}torpor-browser", path=settings.base or "/", secure=settings.secure)
            return ProxyLogin(settings.proxy_cidr, settings.proxy_header, browser)
        case "token":
            return PastedTokenLogin(cookie)
        case "oidc":
            began = SealedCookie(
                secret=secret,
                name=f"{prefix}torpor-login",
                path=settings.base,
                secure=settings.secure,
                seconds=LOGIN_SECONDS,
                same_site="Lax",
            )
            return OidcLogin(_provider(settings), settings.url, cookie, began)


def _provider(settings: PageSettings) -> OidcProvider:
    file = settings.oidc_client_secret
    client = OidcClient(
        issuer=settings.oidc_issuer or "",
        client_id=settings.oidc_client_id,
        secret=file.read_text().strip() if file else "",
        scopes=settings.oidc_scopes,
    )
    ca = settings.oidc_ca
    return OidcProvider(client, ssl.create_default_context(cafile=str(ca)) if ca else None)
