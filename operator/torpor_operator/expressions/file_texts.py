"""The fields of a source of a file whose text may have expressions (ADR 0064, ADR 0065). Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from torpor_crds.models.files import FileSource


class SourceText(NamedTuple):
    """A text of a source. `by_data`: whether the results of tasks may choose its value."""

    field: str
    text: str
    by_data: bool = True


def texts(source: FileSource) -> list[SourceText]:
    """Return the texts of a source that are set.

    A token goes to the server in the address, so data cannot choose the address then. The keys of an object store go
    to no server, and those of a service account and a SAS token go to one that has no expressions.
    """
    git = source.git
    given: Mapping[str, str | None] = {
        "text": source.text,
        "http.url": source.http.url if source.http else None,
        "object.url": source.object.url if source.object else None,
        "git.url": git.url if git else None,
        "git.ref": git.ref if git else None,
        "git.path": git.path if git else None,
    }
    has_token = git is not None and git.token is not None
    return [
        SourceText(field, text, by_data=not (has_token and field == "git.url"))
        for field, text in given.items()
        if text is not None
    ]
