"""An event that is too large for its TaskRun: `status.event` then says what of it is in the archive (adr/0024).

Written as a type of `torpor_wire.typed_json` that only who reads an event knows, so no data can be taken for it.
"""

from collections.abc import Mapping

from torpor_wire import canonical

_TYPE = "stored"


def written(about: Mapping[str, canonical.Json]) -> str:
    """The text of `status.event` for what the archive said of the event: its size and digest."""
    return canonical.plain({"__type": _TYPE, "__var": {"size": about["size"], "digest": about["digest"]}})


def described(event: object) -> Mapping[str, canonical.Json] | None:
    """What is said of an event in the archive; None for an event that stands on its TaskRun."""
    match event:
        case {"__type": "stored", "__var": {"size": int() as size, "digest": str() as digest}}:
            return {"size": size, "digest": digest, "type": "bytes"}
        case _:
            return None
