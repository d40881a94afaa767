from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from karptui.sources.cluster import body, connection_pool, stream
from karptui.sources.cluster.connection import Pem
from karptui.sources.cluster.credentials import FileCredentials
from karptui.sources.cluster.discovery import discover
from karptui.sources.cluster.errors import ApiError, CredentialError, KubeconfigError, UnreachableError
from karptui.sources.cluster.exec_plugin import ExecCredentials
from karptui.sources.cluster.stream import EndlessLineError, LineBuffer
from karptui.sources.cluster.transport import Transport
from karptui.sources.controller import read_controller
from karptui.sources.source import Phase, SourceError
from karptui.sources.usage import read_nodes
from tests.fake_api_server import Call, Script, listing, named

from .live import Serve, transport_to
from .test_exec_credential import plugin
from .test_reflector import Bench

DEEP = b"[" * 100_000 + b"]" * 100_000
MIB = 1 << 20


@contextmanager
def peak_memory_below(mebibytes: float) -> Iterator[None]:
    """Fail if the block's peak memory exceeds this."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < mebibytes * MIB, f"peak of {peak / MIB:.1f} MiB"


def endless(call: Call) -> None:
    """Send zeros until the client hangs up."""
    while True:
        call.chunks(b"0" * 65_536)


class Steps:
    """A clock that advances by this many seconds at each reading."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._now = seconds, 0.0

    def monotonic(self) -> float:
        self._now += self._seconds
        return self._now


# Bodies


def test_endless_body_is_abandoned(serve: Serve) -> None:
    transport = transport_to(serve(endless))
    with peak_memory_below(10), pytest.raises(UnreachableError, match=r"sent an answer of more than 4 MiB"):
        transport.get("/api", most_bytes=4 * MIB)


def test_body_that_unpacks_to_too_much_is_abandoned(serve: Serve) -> None:
    bomb = gzip.compress(b"0" * (40 * MIB))
    transport = transport_to(serve(lambda call: call.text(bomb, Content_Encoding="gzip")))
    with peak_memory_below(10), pytest.raises(UnreachableError, match=r"unpacks to more than 200 times its size"):
        transport.get("/api", most_bytes=4 * MIB)


def test_connection_with_an_unread_rest_is_not_reused(serve: Serve) -> None:
    server = serve(Script(lambda call: call.text(b"0" * 4096), lambda call: call.json({"a": 1})))
    transport = transport_to(server)
    with pytest.raises(UnreachableError, match="of more than 1 KiB"):
        transport.get("/one", most_bytes=1024)
    assert transport.get("/two") == b'{"a": 1}'


@pytest.mark.parametrize(("content", "encoding", "sentence"), [
    (b"no gzip", "gzip", "cannot be unpacked"),
    (gzip.compress(b"0" * 1000)[:-9], "gzip", "cut the connection"),
    (b"anything", "br", "in an encoding that was not asked for: br"),
], ids=["damaged", "cut", "other"])  # fmt: skip
def test_undecodable_content_encoding_is_an_error(serve: Serve, content: bytes, encoding: str, sentence: str) -> None:
    transport = transport_to(serve(lambda call: call.text(content, Content_Encoding=encoding)))
    with pytest.raises(UnreachableError, match=sentence):
        transport.get("/api")


def test_body_that_is_too_slow_is_abandoned(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.sources.cluster.transport.time", Steps(100))

    def drip(call: Call) -> None:
        while True:
            call.chunks(b"0")

    with peak_memory_below(3), pytest.raises(UnreachableError, match="did not finish an answer within 300 s"):
        transport_to(serve(drip)).get("/api")


def test_only_the_beginning_of_an_endless_error_body_is_read(serve: Serve) -> None:
    def fail(call: Call) -> None:
        call._handler.send_response(500)
        call._handler.send_header("Transfer-Encoding", "chunked")
        call._handler.end_headers()
        call._is_streaming = True
        endless(call)

    with peak_memory_below(3), pytest.raises(ApiError, match="500: Internal Server Error"):
        transport_to(serve(fail)).get("/api")


def test_error_body_nested_deeply(serve: Serve) -> None:
    deep = b'{"message":"no","details":' + DEEP[:30_000] + DEEP[-30_000:] + b"}"
    with pytest.raises(ApiError, match="500: Internal Server Error"):
        transport_to(serve(lambda call: call.text(deep, 500))).get("/api")


@pytest.mark.parametrize("ask", [discover, read_nodes, read_controller])
@pytest.mark.parametrize(
    "content",
    [DEEP, b'{"items":' + DEEP + b"}", b'{"x":' + DEEP + b"}", b"\xff", b"null"],
    ids=["list", "items", "field", "bytes", "nothing"],
)
def test_unreadable_answers_give_short_errors(serve: Serve, ask: Callable[[Any], object], content: bytes) -> None:
    with pytest.raises(SourceError) as caught:
        ask(transport_to(serve(lambda call: call.text(content))))
    assert len(str(caught.value)) < 400


# Lists and watches


def read_at_most(most_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = body.read_body
    monkeypatch.setattr(
        "karptui.sources.cluster.transport.read_body",
        lambda response, server, **options: real(
            response, server, **{**options, "most_bytes": min(options["most_bytes"], most_bytes)}
        ),
    )


def test_page_that_is_too_large_is_read_in_smaller_pages(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"node-{number:03}" for number in range(200)]

    def answer(call: Call) -> None:
        if call.is_watch:
            call.error(400)
            return
        limit, begin = int(call.query["limit"]), int(call.query.get("continue", "0"))
        token = str(begin + limit) if begin + limit < len(names) else ""
        call.json(listing(map(named, names[begin : begin + limit]), token=token))

    read_at_most(8_000, monkeypatch)
    bench = Bench(serve(answer))
    bench.step()
    assert bench.keys == set(names)
    assert bench.status.phase is Phase.LIVE


def test_server_that_ignores_the_page_limit_is_an_error(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(call: Call) -> None:
        call.error(400) if call.is_watch else call.json(listing(named(f"node-{i}") for i in range(200)))

    read_at_most(1024, monkeypatch)
    bench = Bench(serve(answer))
    assert bench.step() > 0
    assert bench.status.phase is Phase.DISCONNECTED
    assert "sent an answer of more than 1 KiB" in bench.status.last_error


def test_endless_line_is_abandoned(serve: Serve) -> None:
    def send(call: Call) -> None:
        call.lines({"type": "ADDED", "object": named("a")})
        endless(call)

    transport = transport_to(serve(send))
    with (
        peak_memory_below(3 * stream.LONGEST_LINE / MIB),
        pytest.raises(UnreachableError, match="sent a line of more than 8 MiB"),
        transport.stream("/watch", {}, silence_seconds=5) as lines,
    ):
        for _ in lines.batches():
            pass


def test_line_in_tiny_chunks_takes_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LONGEST_LINE", MIB // 16)
    wire = b"2\r\n00\r\n" * 2000
    buffer = LineBuffer(1 << 14, is_chunked=True)

    def read_on() -> None:
        for _ in range(1000):
            buffer.space()[: len(wire)] = wire
            assert buffer.take(len(wire)) == []

    with peak_memory_below(0.3), pytest.raises(EndlessLineError):
        read_on()


# Answers that are too slow


def drip(begin: bytes) -> Callable[[Call], None]:
    """Return an answer that sends a beginning and then one digit at a time until the client hangs up."""

    def answer(call: Call) -> None:
        call._handler.wfile.write(begin)
        while True:
            call._handler.wfile.write(b"0")

    return answer


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
TOO_SLOW = "did not finish an answer in time"


@pytest.mark.parametrize("begin", [
    b"HTTP/1.1 2",
    OK + b"X: ",
    b"HTTP/1.1 100 Continue\r\nX: ",
    CHUNKED,
    CHUNKED + b"1\r\n0\r\n0\r\nX: ",
    b"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"",
], ids=["status", "header", "continue", "size of a chunk", "trailer", "error", "proxy"])  # fmt: skip
def test_slow_framing_is_abandoned(serve: Serve, monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    monkeypatch.setattr(connection_pool, "time", Steps(60))
    server = serve(drip(begin or OK + b"X: "))
    proxied: dict[str, Any] = {} if begin else {"proxy_url": server.url}
    transport = transport_to(server if begin else "https://api.test", read_seconds=100, **proxied)
    with peak_memory_below(3), pytest.raises(UnreachableError, match=TOO_SLOW):
        transport.get("/api")


def watch(transport: Transport, **options: Any) -> list[bytes]:
    with transport.stream("/watch", {}, silence_seconds=100, **options) as lines:
        return [bytes(line) for batch in lines.batches() for line in batch]


@pytest.mark.parametrize(
    "begin",
    [CHUNKED, CHUNKED + b"fffff\r\n", OK + b"\r\n", OK + b"Connection: close\r\n\r\n"],
    ids=["size of a chunk", "line", "no chunks", "closing"],
)
def test_slow_line_is_abandoned(serve: Serve, monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    monkeypatch.setattr(stream, "time", Steps(40))
    with peak_memory_below(3), pytest.raises(UnreachableError, match=TOO_SLOW):
        watch(transport_to(serve(drip(begin))))


def test_watch_of_empty_lines_is_abandoned_and_others_end_on_time(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "time", Steps(40))

    def going_on(line: bytes) -> Transport:
        def answer(call: Call) -> None:
            while True:
                call.chunks(line)

        return transport_to(serve(answer))

    with pytest.raises(UnreachableError, match=TOO_SLOW):
        watch(going_on(b"\n"))
    assert set(watch(going_on(b"one\n"), lasts_seconds=400)) == {b"one"}


@pytest.mark.parametrize("header", [b"", b"Connection: close\r\n"])
def test_open_watch_may_be_silent_for_longer(serve: Serve, header: bytes) -> None:
    def answer(call: Call) -> None:
        call._handler.wfile.write(OK + header + b"Transfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
        call.stall()

    with transport_to(serve(answer)).stream("/watch", {}, silence_seconds=100) as lines:
        assert next(lines.batches()) == [b"one"]
        response: Any = lines._response
        assert response._fp.reads._sock.gettimeout() == 100


# Plugins and files


@pytest.mark.parametrize(("code", "seconds", "sentence"), [
    ("import sys\nwhile True: sys.stdout.write('0' * 65536)", 20, "exec plugin fake prints more than 1 MiB"),
    ("import sys\nfor _ in range(400): sys.stderr.write('0' * 65536)\nsys.exit(1)", 20,
     "failed with exit status 1: 000"),
    ("import os, time\nos.close(1); os.close(2); time.sleep(60)", 0.3, r"did not finish within 0\.3 s"),
], ids=["prints", "complains", "closes its output and stays"])  # fmt: skip
def test_endless_plugin_output_is_an_error(code: str, seconds: float, sentence: str) -> None:
    with peak_memory_below(5), pytest.raises(CredentialError, match=sentence):
        ExecCredentials(plugin(code), timeout_seconds=seconds).current()


def test_endless_token_and_certificate_files_are_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(MIB + 1)
    monkeypatch.setattr("karptui.sources.cluster.connection.PEM_BYTES", MIB)
    for path, sentence in ((Path("/dev/zero"), "it is no regular file"), (large, "it is larger than 1 MiB")):
        with peak_memory_below(5), pytest.raises(CredentialError, match=f"{path}: {sentence}"):
            FileCredentials(path).current()
        with peak_memory_below(5), pytest.raises(KubeconfigError, match=sentence):
            Pem("certificate", path=path).read()
