"""Divides chunks of a log into lines as they arrive, and cuts long ones: a page cannot show a line of 8 MB. Pure."""

from torpor_client.logs.log_text import LINE_MAX


class LineCutter:
    """Lines of at most `limit` bytes. `divide`: a longer line becomes several, else its rest is counted and dropped."""

    def __init__(self, limit: int = LINE_MAX, *, divide: bool = False) -> None:
        self._limit = limit
        self._divide = divide
        self._held = bytearray()
        self._dropped = 0

    def feed(self, chunk: bytes) -> list[str]:
        """Return the lines that a chunk completes."""
        *ended, rest = chunk.split(b"\n")
        lines: list[str] = []
        for part in ended:
            lines += self._take(part)
            lines.append(self._line())
        return lines + self._take(rest)

    def finish(self) -> list[str]:
        """Return the last line, if it has no end."""
        return [self._line()] if self._held or self._dropped else []

    def _take(self, part: bytes) -> list[str]:
        lines: list[str] = []
        while len(self._held) + len(part) > self._limit:
            room = self._limit - len(self._held)
            self._held += part[:room]
            part = part[room:]
            if not self._divide:
                self._dropped += len(part)
                return lines
            lines.append(self._line())
        self._held += part
        return lines

    def _line(self) -> str:
        text = self._held.decode("utf-8", "replace").removesuffix("\r")
        note = f" … ({self._dropped:,} more bytes; the download has the whole line)" if self._dropped else ""
        self._held.clear()
        self._dropped = 0
        return text + note
