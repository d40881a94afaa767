"""The chunked coding of HTTP/1.1, taken apart many chunks at a time.

An API server sends each event of a watch as a chunk, and a client that reads them one by one spends more on that than
on the events. Source: RFC 9112, section 7.1.
"""

from __future__ import annotations

from typing import Final

LONGEST_SIZE_LINE: Final = 1 << 14
"""Of a size line with its extensions; longer ones are no chunked coding."""


class ChunkedBody:
    """What is between the size lines of an answer, however the pieces of it arrive."""

    def __init__(self) -> None:
        self.is_ended = False
        """Whether the last chunk has come; trailers after it are nobody's business."""
        self._left = 0
        """Bytes to come of the present chunk."""
        self._framing = b""
        """The beginning of a size line whose end has not come, with the line end of the chunk before."""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the contents in some more bytes of the answer.

        Raises:
            ValueError: when a size cannot be read.
        """
        if self._framing:
            data, self._framing = self._framing + data, b""
        contents: list[bytes] = []
        position, end = 0, len(data)
        while not self.is_ended:
            if self._left:
                content = data[position : position + self._left]
                contents.append(content)
                position += len(content)
                self._left -= len(content)
                if self._left:
                    break
            # The line end of the chunk before, or the shortest size line: either way its own end is not within two.
            line_end = data.find(b"\n", position + 2)
            if line_end < 0:
                self._framing = data[position:end]
                if len(self._framing) > LONGEST_SIZE_LINE:
                    raise ValueError("a chunk without a size")
                break
            self._left = int(data[position:line_end].partition(b";")[0], 16)
            if self._left < 0:
                raise ValueError("a chunk of less than nothing")
            self.is_ended = not self._left
            position = line_end + 1
        return contents
