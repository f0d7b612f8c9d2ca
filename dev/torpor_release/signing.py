"""Pushes, signs and verifies the images of a release with crane and cosign.

In a workflow cosign signs without a key: its certificate names the workflow, and the signature is in the public
transparency log. With a key it contacts nothing but the registry; the tests use this. Passwords of keys are in
COSIGN_PASSWORD, as cosign documents.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torpor_dev import command
from torpor_dev.console import DevError, step
from torpor_dev.offline import golang

from torpor_release import provenance

_LIMIT = 600
_NO_SERVICES = {
    "mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
    "rekorTlogConfig": {},
    "tsaConfig": {},
}
_NO_ROOT = {"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Who signs: a private key, or the identity of the workflow if there is none."""

    key: str = ""

    @contextmanager
    def options(self) -> Iterator[list[str]]:
        """The options of `cosign sign` and `cosign attest`."""
        if not self.key:
            yield ["--yes"]
            return
        with tempfile.TemporaryDirectory() as folder:
            services, root = Path(folder, "services.json"), Path(folder, "root.json")
            services.write_text(json.dumps(_NO_SERVICES))
            root.write_text(json.dumps(_NO_ROOT))
            yield ["--yes", "--key", self.key, "--signing-config", str(services), "--trusted-root", str(root)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """Whose signature is accepted: that of a public key, or that of a workflow by its identity and its issuer."""

    key: str = ""
    identity: str = ""
    issuer: str = ""

    def options(self) -> list[str]:
        """The options of `cosign verify` and `cosign verify-attestation`."""
        if self.key:
            return ["--key", self.key, "--insecure-ignore-tlog=true"]
        if not (self.identity and self.issuer):
            raise DevError("verification needs KEY=cosign.pub, or IDENTITY=REGEX and ISSUER=URL of the workflow")
        return ["--certificate-identity-regexp", self.identity, "--certificate-oidc-issuer", self.issuer]


def push(layouts: Path, names: Sequence[str], registry: str, tag: str) -> dict[str, str]:
    """Push the layouts; return the reference of each image by its digest."""
    references = {}
    for name in names:
        with step(f"pushing {registry}/{name}:{tag}"):
            command.run(golang.build(golang.CRANE), "push", layouts / name, f"{registry}/{name}:{tag}", limit=_LIMIT)
        references[name] = f"{registry}/{name}@{provenance.digest_of_index(layouts / name)}"
    return references


def sign(reference: str, signer: Signer) -> None:
    """Sign an image by its digest, with the images of its processors."""
    with signer.options() as options, step(f"signing {reference}"):
        command.run(golang.build(golang.COSIGN), "sign", "--recursive", *options, reference, limit=_LIMIT)


def attest(reference: str, kind: str, predicate: Path, signer: Signer) -> None:
    """Sign a statement about an image: `kind` is cyclonedx or slsaprovenance1."""
    words = ("--type", kind, "--predicate", predicate)
    with signer.options() as options, step(f"attesting {kind} of {reference}"):
        command.run(golang.build(golang.COSIGN), "attest", *words, *options, reference, limit=_LIMIT)


def sign_file(path: Path, signer: Signer) -> Path:
    """Sign a file; return the bundle with the signature, beside it."""
    bundle = path.with_name(f"{path.name}.sigstore.json")
    with signer.options() as options, step(f"signing {path.name}"):
        command.run(golang.build(golang.COSIGN), "sign-blob", *options, "--bundle", bundle, path, limit=_LIMIT)
    return bundle


def verify_file(path: Path, verifier: Verifier) -> None:
    """Raise CommandError unless the file has a signature that is accepted, in the bundle beside it."""
    bundle = path.with_name(f"{path.name}.sigstore.json")
    words: tuple[str | Path, ...] = ("verify-blob", *verifier.options(), "--bundle", bundle, path)
    command.run(golang.build(golang.COSIGN), *words, limit=_LIMIT)


def verify(reference: str, verifier: Verifier) -> None:
    """Raise CommandError unless the image has a signature that is accepted."""
    command.run(golang.build(golang.COSIGN), "verify", *verifier.options(), reference, limit=_LIMIT)


def verified_statement(reference: str, kind: str, verifier: Verifier) -> str:
    """The signed statement of a kind about an image. Raises CommandError without one that is accepted."""
    words = ("verify-attestation", "--type", kind)
    return command.run(golang.build(golang.COSIGN), *words, *verifier.options(), reference, limit=_LIMIT)
