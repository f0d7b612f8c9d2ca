"""The address of the archive, as its ConfigMap publishes it."""

from typing import NamedTuple


class ArchiveEndpoint(NamedTuple):
    """The base URL without a trailing slash, and the archive's own certificate as PEM."""

    url: str
    certificate: str
