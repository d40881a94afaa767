"""Lines out of an answer's bytes as they arrive, with the chunked coding of HTTP/1.1 taken apart on the way.

An API server sends each event of a watch as a chunk, and a client that reads them one by one spends more on that than
on the events. So whatever has arrived is read into one room that is used again and again, and lines are views of it.
Source: RFC 9112, section 7.1.
"""

from __future__ import annotations

from typing import Final

LONGEST_SIZE_LINE: Final = 1 << 14
"""Of a size line with its extensions; longer ones are no chunked coding."""

FIRST_ROOM: Final = 1 << 14
"""Bytes to read at a time at first, as most streams are quiet; no less than a connection reads along with headers."""

Line = bytes | memoryview
"""A line without its end. A view is good until more bytes are read."""


class LineBuffer:
    """Room to read an answer into, and the lines that are complete in it."""

    def __init__(self, room: int, *, is_chunked: bool) -> None:
        """Make room.

        Args:
            room: bytes to read at a time at most, once that much comes.
            is_chunked: whether the bytes come in chunks; else they are the contents themselves.
        """
        self.is_ended = False
        """Whether the last chunk has come; trailers after it are nobody's business."""
        self._most = room
        self._make_room(min(room, FIRST_ROOM))
        self._is_chunked = is_chunked
        self._left = 0
        """Bytes to come of the present chunk."""
        self._framing = b""
        """The beginning of a size line whose end has not come, with the line end of the chunk before."""
        self._pieces: list[bytes] = []
        """The beginning of a line whose end has not come."""

    @property
    def is_within_line(self) -> bool:
        """Whether a line has begun and not ended."""
        return bool(self._pieces)

    def space(self) -> memoryview:
        """Return where to read the next bytes into; lines taken before are good no more."""
        if self._is_full and self._room < self._most:
            self._make_room(self._most)
        begin = len(self._framing)
        self._view[:begin] = self._framing
        return self._view[begin : begin + self._room]

    def take(self, count: int) -> list[Line]:
        """Return the lines that so many more bytes complete, without those that are empty.

        Raises:
            ValueError: when the size of a chunk cannot be read.
        """
        self._is_full = count == self._room
        end = len(self._framing) + count
        lines: list[Line] = []
        if not self._is_chunked:
            self._cut(0, end, lines)
            return lines
        buffer, view, pieces = self._buffer, self._view, self._pieces
        position, self._framing = 0, b""
        while not self.is_ended:
            if self._left:
                stop = min(position + self._left, end)
                if not pieces and position < stop - 1 == buffer.find(b"\n", position, stop):
                    # A chunk that is a line, as an API server sends them.
                    lines.append(view[position : stop - 1])
                else:
                    self._cut(position, stop, lines)
                self._left -= stop - position
                position = stop
                if self._left:
                    break
            # The line end of the chunk before, or the shortest size line: either way its own end is not within two.
            line_end = buffer.find(b"\n", position + 2, end)
            if line_end < 0:
                self._framing = bytes(view[position:end])
                if len(self._framing) > LONGEST_SIZE_LINE:
                    raise ValueError("a chunk without a size")
                break
            self._left = _size(buffer[position:line_end])
            self.is_ended = not self._left
            position = line_end + 1
        return lines

    def _make_room(self, room: int) -> None:
        self._buffer = bytearray(room + LONGEST_SIZE_LINE)
        self._view = memoryview(self._buffer)
        self._room, self._is_full = room, False

    def _cut(self, start: int, stop: int, lines: list[Line]) -> None:
        """Add the lines that end between two places, and keep what is begun."""
        find, view, pieces = self._buffer.find, self._view, self._pieces
        while (line_end := find(b"\n", start, stop)) >= 0:
            if pieces:
                lines.append(b"".join((*pieces, view[start:line_end])))
                pieces.clear()
            elif line_end > start:
                lines.append(view[start:line_end])
            start = line_end + 1
        if start < stop:
            pieces.append(bytes(view[start:stop]))


def _size(line: bytearray) -> int:
    """Return the size that a chunk's first line gives, the line end of the chunk before it included."""
    size = int(line.partition(b";")[0], 16)
    if size < 0:
        raise ValueError("a chunk of less than nothing")
    return size
