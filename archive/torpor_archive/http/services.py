"""What the handlers of the archive's HTTP API share: the parts that `main()` builds, and who calls."""

from dataclasses import dataclass

from aiohttp import web
from torpor_kubernetes.timing import Clock

from torpor_archive.auth import policy
from torpor_archive.auth.policy import Caller
from torpor_archive.auth.reviews import AccessReviews
from torpor_archive.http import middleware
from torpor_archive.http.downloads import Downloads
from torpor_archive.namespaces import NamespaceFinder
from torpor_archive.storage.database import Database
from torpor_archive.storage.upload import Uploads


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveServices:
    """The parts of an archive that its handlers use."""

    database: Database
    reviews: AccessReviews
    namespaces: NamespaceFinder
    downloads: Downloads
    uploads: Uploads
    clock: Clock

    async def authenticate_pod(self, request: web.Request, namespace: str) -> Caller:
        """Return the calling pod of a namespace. Raises RefusedError."""
        caller = await middleware.authenticate(request, self.reviews)
        middleware.unwrap(policy.check_pod(caller, namespace))
        return caller
