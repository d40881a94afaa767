from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.sources.cluster.stream import FIRST_ROOM, LONGEST_SIZE_LINE, LineBuffer

ROOM = 64


def chunked(contents: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(content), content) for content in contents) + b"0\r\n\r\n"


def read(buffer: LineBuffer, data: bytes) -> list[bytes]:
    """Feed bytes to the buffer as a socket would, and return the lines."""
    lines: list[bytes] = []
    while data and not buffer.is_ended:
        space = buffer.space()
        count = min(len(space), len(data))
        space[:count] = data[:count]
        lines += [bytes(line) for line in buffer.take(count)]
        data = data[count:]
    return lines


contents_of_lines = st.lists(st.text("ab\n\r", min_size=1, max_size=200).map(str.encode))


@pytest.mark.parametrize("is_chunked", [False, True])
@given(contents=contents_of_lines, cuts=st.lists(st.integers(0, 600), max_size=12), room=st.integers(1, ROOM))
def test_lines_do_not_depend_on_where_reads_end(
    contents: list[bytes], cuts: list[int], room: int, *, is_chunked: bool
) -> None:
    wire = chunked(contents) if is_chunked else b"".join(contents)
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    buffer = LineBuffer(room, is_chunked=is_chunked)
    lines = [line for start, end in pairwise(edges) for line in read(buffer, wire[start:end])]
    *whole, rest = b"".join(contents).split(b"\n")
    assert lines == [line for line in whole if line]
    assert buffer.is_within_line is bool(rest)
    assert buffer.is_ended is is_chunked


def test_chunk_extensions_and_trailers_are_ignored() -> None:
    buffer = LineBuffer(ROOM, is_chunked=True)
    assert read(buffer, b'4;name="x"\r\nabc\n\r\n0\r\nTrailer: 1\r\n\r\n') == [b"abc"]
    assert buffer.is_ended


def test_the_buffer_grows_when_a_read_fills_it() -> None:
    buffer = LineBuffer(4 * FIRST_ROOM, is_chunked=False)
    assert buffer.space().nbytes == FIRST_ROOM
    assert not buffer.take(3)
    assert buffer.space().nbytes == FIRST_ROOM
    assert not buffer.take(FIRST_ROOM)
    space = buffer.space()
    assert space.nbytes == 4 * FIRST_ROOM
    space[:2] = b"a\n"
    assert [bytes(line) for line in buffer.take(2)] == [b"\0" * (FIRST_ROOM + 3) + b"a"]


def test_lines_are_views_of_the_buffer() -> None:
    """Received bytes are not copied: a large cluster sends hundreds of megabytes."""
    buffer = LineBuffer(ROOM, is_chunked=True)
    space = buffer.space()
    space[:8] = b"3\r\nab\n\r\n"
    (line,) = buffer.take(8)
    assert isinstance(line, memoryview)
    assert line.obj is space.obj


@pytest.mark.parametrize("wire", [b"zz\r\n", b"-4\r\nabcd", b"<html>\n", b"x" * (LONGEST_SIZE_LINE + 1)])
def test_invalid_chunks_are_errors(wire: bytes) -> None:
    with pytest.raises(ValueError, match=r"chunk|literal"):
        read(LineBuffer(ROOM, is_chunked=True), wire)
