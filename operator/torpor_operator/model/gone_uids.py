"""The uids of objects that the API server no longer has. A uid is never used again, so a later event of one is late."""

UIDS_MAX = 10_000


class GoneUids:
    """The last uids that were added, at most `UIDS_MAX`."""

    def __init__(self) -> None:
        self._uids: dict[str, None] = {}

    def __contains__(self, uid: object) -> bool:
        return uid in self._uids

    def add(self, uid: str) -> None:
        """Note that the object is gone."""
        self._uids[uid] = None
        if len(self._uids) > UIDS_MAX:
            del self._uids[next(iter(self._uids))]
