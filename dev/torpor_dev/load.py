"""Copies local images to every node of the cluster that lacks them."""

import json
from collections.abc import Sequence

from torpor_dev import command, engine, external_cluster, kind
from torpor_dev.console import DevError, say, step

_IMPORT = ("ctr", "--namespace=k8s.io", "images", "import", "--snapshotter=overlayfs", "-")


def onto_nodes(images: Sequence[str]) -> None:
    """Ensure that all nodes have the images. Raises DevError for an image that the engine lacks."""
    if (given := external_cluster.kubeconfig()) is not None:
        names = " ".join(images)
        say(f"{given}: load the images onto its nodes if they lack them: {names}")
        say(f"(kind: `kind load docker-image {names}`; minikube: `minikube image load {names}`)")
        say("or let the nodes pull them from a registry: make demo REGISTRY=registry.example.org/team VERSION=1.0")
        return
    nodes = [node.name for node in kind.containers() if node.running]
    if not nodes:
        raise DevError("no cluster runs that images could be loaded to: create it first (make cluster)")
    for node in nodes:
        onto_node(node, images)


def onto_node(node: str, images: Sequence[str]) -> None:
    """Ensure that one node has the images. Raises DevError for an image that the engine lacks."""
    wanted = {image: _id(image) for image in images}
    listing = _listing(node)
    missing = [image for image, digest in wanted.items() if _id_on(node, listing, image) != digest]
    if missing:
        with step(f"loading {', '.join(missing)} onto {node}"):
            _copy(missing, node)


def _id(image: str) -> str:
    digest = engine.image_id(image)
    if digest is None:
        raise DevError(f"the Docker engine has no image {image}: build it first")
    return digest


def content_of(listing: str, image: str) -> str | None:
    """The content digest of an image in the output of `ctr images list`, or None."""
    rows = [line.split() for line in listing.splitlines()]
    contents = {row[0]: row[2] for row in rows if len(row) > 2}  # noqa: PLR2004 - columns: name, type, content
    return contents.get(full_name(image))


def id_of(manifest: str) -> str | None:
    """The image id as Docker shows it: the digest of the configuration in its manifest."""
    config = json.loads(manifest).get("config", {})
    digest: str | None = config.get("digest")
    return digest


def _id_on(node: str, listing: str, image: str) -> str | None:
    content = content_of(listing, image)
    return id_of(_ctr(node, "content", "get", content)) if content else None


def full_name(image: str) -> str:
    """The name of an image with the registry and tag that Docker implies."""
    first, slash, _ = image.partition("/")
    tagged = image if ":" in image.rpartition("/")[2] else f"{image}:latest"
    if not slash:
        return f"docker.io/library/{tagged}"
    return tagged if "." in first or ":" in first or first == "localhost" else f"docker.io/{tagged}"


def _listing(node: str) -> str:
    return _ctr(node, "images", "list")


def _ctr(node: str, *words: str) -> str:
    return command.run("docker", "exec", node, "ctr", "--namespace=k8s.io", *words, limit=60)


def _copy(images: Sequence[str], node: str) -> None:
    command.pipe(["docker", "save", *images], ["docker", "exec", "--interactive", node, *_IMPORT], limit=600)
