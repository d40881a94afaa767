"""Taking chunked answers apart, however their bytes arrive."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.sources.cluster.chunks import LONGEST_SIZE_LINE, ChunkedBody


def chunked(contents: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in contents) + b"0\r\n\r\n"


@given(st.lists(st.binary(min_size=1, max_size=40)), st.lists(st.integers(0, 300), max_size=12))
def test_contents_do_not_depend_on_where_reads_end(contents: list[bytes], cuts: list[int]) -> None:
    wire = chunked(contents)
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    body = ChunkedBody()
    got = [piece for start, end in pairwise(edges) for piece in body.feed(wire[start:end])]
    assert b"".join(got) == b"".join(contents)
    assert body.is_ended


def test_byte_by_byte() -> None:
    body = ChunkedBody()
    pieces = [piece for byte in chunked([b"ab\r\n", b"c"]) for piece in body.feed(bytes([byte]))]
    assert b"".join(pieces) == b"ab\r\nc"
    assert body.is_ended


def test_extensions_and_trailers_are_passed_over() -> None:
    body = ChunkedBody()
    assert body.feed(b'3;name="x"\r\nabc\r\n0\r\nTrailer: 1\r\n\r\n') == [b"abc"]
    assert body.is_ended
    assert body.feed(b"5\r\nafter") == []


def test_whole_chunks_come_before_a_part_of_the_next() -> None:
    body = ChunkedBody()
    assert body.feed(b"2\r\nab\r\n4\r\ncd") == [b"ab", b"cd"]
    assert body.feed(b"ef\r\n") == [b"ef"]
    assert not body.is_ended


@pytest.mark.parametrize("wire", [b"zz\r\n", b"-4\r\nabcd", b"<html>\n", b"x" * (LONGEST_SIZE_LINE + 1)])
def test_what_is_no_chunk(wire: bytes) -> None:
    with pytest.raises(ValueError, match=r"chunk|literal"):
        ChunkedBody().feed(wire)
