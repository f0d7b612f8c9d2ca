"""An event that is too large for its TaskRun: `status.event` describes the body in the archive (adr/0024).

The description is a type of `torpor_wire.typed_json` that only readers of events know, so data cannot be confused with
it.
"""

from collections.abc import Mapping

from torpor_wire import canonical

_TYPE = "stored"


def written(about: Mapping[str, canonical.Json]) -> str:
    """Return the text of `status.event` for the description by the archive: size and digest."""
    return canonical.plain({"__type": _TYPE, "__var": {"size": about["size"], "digest": about["digest"]}})


def described(event: object) -> Mapping[str, canonical.Json] | None:
    """Return the description of an archived event, None for an event that is on its TaskRun."""
    match event:
        case {"__type": "stored", "__var": {"size": int() as size, "digest": str() as digest}}:
            return {"size": size, "digest": digest, "type": "bytes"}
        case _:
            return None
