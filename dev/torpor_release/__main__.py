"""`python -m torpor_release`: the steps of a release, one verb each. Answers go to standard output."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from torpor_dev import command
from torpor_dev.console import DevError
from torpor_dev.offline import golang

from torpor_release import comparison, debian_packages, image_layout, packages, publication, release_images, signing
from torpor_release.publication import TARGET


def main() -> int:
    """Run the verb of the command line; return the exit code."""
    options = _parser().parse_args()
    try:
        _perform(options)
    except DevError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="torpor-release", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("lock", help="write the newest Debian packages of the images to debian.json")
    images = verbs.add_parser("images", help="build the images for all processors, and describe them")
    images.add_argument("--pythons", default="", help="versions of Python that compile the runtime besides 3.11")
    push = verbs.add_parser("push", help="push the images")
    push.add_argument("--registry", required=True)
    push.add_argument("--tag", required=True)
    sign = verbs.add_parser("sign", help="sign the pushed images and their descriptions")
    sign.add_argument("--key", default="", help="a private key; without one the identity of the workflow signs")
    verify = verbs.add_parser("verify", help="verify the signatures of the pushed images")
    verify.add_argument("--key", default="", help="a public key")
    verify.add_argument("--identity", default="", help="a regular expression of the identity of the workflow")
    verify.add_argument("--issuer", default="", help="the issuer of this identity")
    compare = verbs.add_parser("compare", help="fail unless two builds of one commit are the same")
    compare.add_argument("builds", nargs=2, type=Path)
    manifests = verbs.add_parser("packages", help="write SHA256SUMS, the krew manifest and the Homebrew formula")
    manifests.add_argument("--url", required=True, help="where the files of the release are downloaded")
    return parser


def _perform(options: argparse.Namespace) -> None:
    match options.verb:
        case "lock":
            debian_packages.write_lock(release_images.ARCHITECTURES)
        case "images":
            _build(options.pythons.split())
        case "push":
            names = [image.name for image in release_images.ALL]
            print("\n".join(publication.push(names, options.registry, options.tag, TARGET).values()))
        case "sign":
            publication.sign(signing.Signer(key=options.key), TARGET)
        case "verify":
            accepted = signing.Verifier(key=options.key, identity=options.identity, issuer=options.issuer)
            publication.verify(accepted, TARGET)
        case "compare":
            _compare(*options.builds)
        case "packages":
            print("\n".join(str(path) for path in packages.write(TARGET / "files", options.url)))


def _compare(first: Path, second: Path) -> None:
    different = comparison.differences(first, second)
    if different:
        raise DevError("two builds of one commit differ:\n" + "\n".join(different))
    print("both builds are the same")


def _build(pythons: Sequence[str]) -> None:
    found = [command.run(release_images.UV, "python", "find", each, limit=60).strip() for each in pythons]
    given = release_images.inputs(TARGET / "wheels", found)
    golang.ensure()
    digests = release_images.build(release_images.ALL, TARGET / "images", given)
    publication.describe(release_images.ALL, TARGET, given)
    print("\n".join(f"{name} {digest} ({_sizes(TARGET / 'images' / name)})" for name, digest in digests.items()))


def _sizes(layout: Path) -> str:
    """What a node pulls, for a person."""
    return ", ".join(f"{each}: {size / 1e6:.1f} MB to pull" for each, size in image_layout.pull_sizes(layout).items())


if __name__ == "__main__":
    sys.exit(main())
