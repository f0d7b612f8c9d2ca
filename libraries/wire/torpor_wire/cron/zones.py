"""Time zones by name. zoneinfo is imported on first use: it costs a task pod milliseconds."""

from datetime import UTC, tzinfo


def zone_named(name: str | None) -> tzinfo:
    """Return a time zone; UTC without a name. Raises ValueError for an unknown name."""
    if name is None or name == "UTC":
        return UTC
    import zoneinfo  # noqa: PLC0415

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f'timezone "{name}" is unknown; use an IANA name such as Europe/Berlin') from error
