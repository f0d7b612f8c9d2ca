"""The certificate that the archive makes for itself, and is its own authority of.

Whoever has it, from the ConfigMap that it is published in, trusts this server and no other by it. Time comes in.
"""

import base64
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import CONFIG_MAPS, SECRETS

VALID = timedelta(days=3650)
_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A private key and its certificate, in PEM."""

    key: str
    certificate: str


def make(host: str, now: datetime) -> Pair:
    """A pair for this name or address, from an hour before `now` on for ten years."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "torpor-archive")])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(host)]), critical=False)
        .add_extension(identifier, critical=False)
        # Python 3.13 refuses an authority without it.
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Pair(
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
        certificate=made.public_bytes(serialization.Encoding.PEM).decode(),
    )


def serves(pair: Pair, host: str, now: datetime) -> bool:
    """Whether a pair that stands somewhere is one for this host, now. False also for what is no pair at all."""
    try:
        found = x509.load_pem_x509_certificate(pair.certificate.encode())
        key = serialization.load_pem_private_key(pair.key.encode(), password=None)
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, x509.ExtensionNotFound):
        return False
    valid = found.not_valid_before_utc <= now < found.not_valid_after_utc
    return valid and _alternative(host) in names and key.public_key() == found.public_key()


def _usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


NAME = "torpor-archive"
URL, AUTHORITY = "url", "ca.crt"
_KEY, _CERTIFICATE = "tls.key", "tls.crt"

log = logging.getLogger(__name__)


class Publication:
    """The Secret and the ConfigMap `torpor-archive` of one namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    async def pair(self, host: str) -> Pair:
        """The pair that all replicas serve with; made where there is none for this host. Raises errors.ApiError."""
        found: Mapping[str, Any] = await self._api.get(SECRETS, self._namespace, NAME)
        now = datetime.fromtimestamp(self._api.clock.now(), UTC)
        stands = _read(found)
        if stands is not None and serves(stands, host, now):
            return stands
        return await self._make(host, now, str(found["metadata"]["resourceVersion"]))

    async def publish(self, url: str, authority: str) -> None:
        """Let everybody know. Raises errors.ApiError."""
        said = {URL: url, AUTHORITY: authority}
        found = await self._api.get(CONFIG_MAPS, self._namespace, NAME)
        if found.get("data") != said:
            ops = [{"op": "add", "path": "/data", "value": said}]
            await self._api.patch(CONFIG_MAPS, self._namespace, NAME, ops)
            log.info("published %s", url)

    async def _make(self, host: str, now: datetime, version: str) -> Pair:
        made = make(host, now)
        data = {_KEY: _encoded(made.key), _CERTIFICATE: _encoded(made.certificate)}
        ops: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/data", "value": data},
        ]
        try:
            await self._api.patch(SECRETS, self._namespace, NAME, ops)
        except (errors.LostRace, errors.Conflict):
            log.info("another replica made the certificate")
            return await self.pair(host)
        log.info("made a certificate for %s", host)
        return made


def _read(secret: Mapping[str, Any]) -> Pair | None:
    data = secret.get("data") or {}
    try:
        return Pair(key=_decoded(data[_KEY]), certificate=_decoded(data[_CERTIFICATE]))
    except (KeyError, ValueError):
        return None


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(text: str) -> str:
    return base64.b64decode(text, validate=True).decode()
