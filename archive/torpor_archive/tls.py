"""The archive's self-signed certificate, and its publication.

Clients trust the certificate in the ConfigMap, and nothing else. The time is a parameter.
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
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import CONFIG_MAPS, SECRETS

VALID = timedelta(days=3650)
_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """A private key and its certificate, in PEM."""

    key: str
    certificate: str


def create_key_pair(host: str, now: datetime) -> KeyPair:
    """Create a key pair for a host name or address, valid from an hour before `now` for ten years."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "torpor-archive")])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    created = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_subject_name(host)]), critical=False)
        .add_extension(identifier, critical=False)
        # Python 3.13 rejects a CA certificate without it.
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
        certificate=created.public_bytes(serialization.Encoding.PEM).decode(),
    )


def is_valid_for(key_pair: KeyPair, host: str, now: datetime) -> bool:
    """Return whether a key pair is valid for this host at this time. False for malformed data."""
    try:
        certificate = x509.load_pem_x509_certificate(key_pair.certificate.encode())
        key = serialization.load_pem_private_key(key_pair.key.encode(), password=None)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, x509.ExtensionNotFound):
        return False
    valid = certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc
    return valid and _subject_name(host) in names and key.public_key() == certificate.public_key()


def _key_usage() -> x509.KeyUsage:
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


def _subject_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


NAME = "torpor-archive"
URL, AUTHORITY = "url", "ca.crt"
_KEY, _CERTIFICATE = "tls.key", "tls.crt"

log = logging.getLogger(__name__)


class CertificatePublisher:
    """Stores the key pair in the Secret, and publishes it in the ConfigMap, `torpor-archive` of a namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    async def load_key_pair(self, host: str) -> KeyPair:
        """Return the key pair that all replicas share; create it if none is valid. Raises errors.ApiError."""
        secret: Mapping[str, Any] = await self._api.get(SECRETS, self._namespace, NAME)
        now = datetime.fromtimestamp(self._api.clock.now(), UTC)
        current = _parse_secret(secret)
        if current is not None and is_valid_for(current, host, now):
            return current
        return await self._create(host, now, str(secret["metadata"]["resourceVersion"]))

    async def publish(self, url: str, authority: str) -> None:
        """Publish the address and the certificate. Raises errors.ApiError."""
        data = {URL: url, AUTHORITY: authority}
        config_map = await self._api.get(CONFIG_MAPS, self._namespace, NAME)
        if config_map.get("data") != data:
            ops = [{"op": "add", "path": "/data", "value": data}]
            await self._api.patch(CONFIG_MAPS, self._namespace, NAME, ops)
            log.info("published %s", url)

    async def _create(self, host: str, now: datetime, version: str) -> KeyPair:
        created = create_key_pair(host, now)
        data = {_KEY: _encode(created.key), _CERTIFICATE: _encode(created.certificate)}
        ops: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/data", "value": data},
        ]
        try:
            await self._api.patch(SECRETS, self._namespace, NAME, ops)
        except (errors.LostRace, errors.Conflict):
            log.info("another replica created the certificate")
            return await self.load_key_pair(host)
        log.info("created a certificate for %s", host)
        return created


def _parse_secret(secret: Mapping[str, Any]) -> KeyPair | None:
    data = secret.get("data") or {}
    try:
        return KeyPair(key=_decode(data[_KEY]), certificate=_decode(data[_CERTIFICATE]))
    except (KeyError, ValueError):
        return None


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decode(text: str) -> str:
    return base64.b64decode(text, validate=True).decode()
