from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import Mock

import pytest

from karptui import __version__
from karptui.sources.cluster.connection import Connection, Grant, Impersonation
from karptui.sources.cluster.credentials import FixedCredentials
from karptui.sources.cluster.errors import ApiError, KubeconfigError, UnreachableError
from karptui.sources.cluster.transport import Transport
from tests.fake_api_server import Call, Script, failure

from .live import Serve, pem, server_tls, transport_to

WATCH = {"watch": "true"}


class Rotating:
    """Credentials that move on to the next token when one is refused."""

    def __init__(self, *tokens: str) -> None:
        self.grants = [Grant(f"Bearer {token}") for token in tokens]
        self.closed = False

    def current(self) -> Grant:
        return self.grants[0]

    def refused(self, grant: Grant) -> bool:
        if grant is self.grants[0] and len(self.grants) > 1:
            self.grants.pop(0)
        return self.grants[0] is not grant

    def close(self) -> None:
        self.closed = True


def test_get(serve: Serve) -> None:
    server = serve(lambda call: call.text(gzip.compress(b'{"a": 1}'), Content_Encoding="gzip"))
    transport = transport_to(f"{server.url}/k8s/clusters/c-1", token="abc")
    assert transport.last_contact_ns == 0
    assert json.loads(transport.get("/api/v1/pods", {"fieldSelector": "status.phase!=Failed"})) == {"a": 1}
    call = server.calls[0]
    assert (call.path, call.query) == ("/k8s/clusters/c-1/api/v1/pods", {"fieldSelector": "status.phase!=Failed"})
    assert call.token == "abc"
    assert call.headers["User-Agent"] == f"karptui/{__version__}"
    assert call.headers["Accept-Encoding"] == "gzip"
    assert transport.last_contact_ns > 0


def test_impersonation_repeats_headers(serve: Serve) -> None:
    server = serve(lambda call: call.json({}))
    whom = Impersonation("jane", ("a", "b"), "7", {"scopes": ("x", "y")})
    transport_to(server, impersonation=whom).get("/")
    headers = server.calls[0].headers
    assert headers["Impersonate-User"] == "jane"
    assert headers["Impersonate-Uid"] == "7"
    assert headers.get_all("Impersonate-Group") == ["a", "b"]
    assert headers.get_all("Impersonate-Extra-scopes") == ["x", "y"]
    transport_to(server, impersonation=Impersonation("jane")).get("/")
    assert "Impersonate-Uid" not in server.calls[1].headers


def test_refused_token_is_replaced_once(serve: Serve) -> None:
    server = serve(lambda call: call.json({}) if call.token == "two" else call.error(401, "Unauthorized"))
    transport = transport_to(server, credentials=Rotating("one", "two"))
    assert transport.get("/") == b"{}"
    assert [call.token for call in server.calls] == ["one", "two"]


@pytest.mark.parametrize(("headers", "body", "expected"), [
    ({}, failure(403, "pods is forbidden", "Forbidden"), (403, "Forbidden", "pods is forbidden", None)),
    ({"Retry_After": "7"}, failure(429, "slow\n\x1bdown"), (429, "", "slow down", 7.0)),
    ({}, {**failure(429, "x"), "details": {"retryAfterSeconds": 3}}, (429, "", "x", 3.0)),
    ({"Retry_After": "Fri, 21 Nov 2026 00:00:00 GMT"}, failure(503, "x"), (503, "", "x", None)),
    ({}, "<html>", (502, "", "Bad Gateway", None)),
    ({}, ["list"], (500, "", "Internal Server Error", None)),
    ({}, failure(302, ""), (302, "", "Found", None)),
])  # fmt: skip
def test_error_statuses(serve: Serve, headers: dict[str, str], body: Any, expected: tuple[Any, ...]) -> None:
    code = expected[0]
    server = serve(
        lambda call: call.text(body, code, **headers) if isinstance(body, str) else call.json(body, code, **headers)
    )
    with pytest.raises(ApiError) as caught:
        transport_to(server).get("/")
    error = caught.value
    assert (error.status, error.reason, error.message, error.retry_after_seconds) == expected
    assert len(server.calls) == 1


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_refused_connection() -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    with pytest.raises(UnreachableError, match=f"^{url} refuses connections$"):
        transport_to(url).get("/")


@pytest.mark.parametrize(("where", "name", "error", "sentence"), [
    (socket, "getaddrinfo", socket.gaierror(-2, "Name or service not known"), "^the host name of {} cannot be res"),
    (socket.socket, "connect", OSError(101, "Network is unreachable"), "^{} cannot be reached: .*is unreachable"),
], ids=["unknown host", "unexpected"])  # fmt: skip
def test_failures_to_connect_are_sentences(
    where: Any, name: str, error: OSError, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, Mock(side_effect=error))
    with pytest.raises(UnreachableError, match=sentence.format("http://127.0.0.1:1")):
        transport_to("http://127.0.0.1:1").get("/")


def test_connection_that_is_not_accepted() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        # The second connection fills the backlog, so further ones get no answer.
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        connection = Connection(server=url, context="c")
        transport = Transport(connection, FixedCredentials(Grant()), connect_seconds=0.05, read_seconds=0.05)
        with pytest.raises(UnreachableError, match=r"did not accept a connection in time|stopped sending data"):
            transport.get("/")
        for filler in fillers:
            filler.close()


@contextmanager
def raw_server(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Yield the URL of a server that reads one request and passes the connection to ``answer``."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def accept() -> None:
            with listener.accept()[0] as accepted:
                accepted.recv(1000)
                answer(accepted)

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def test_answer_that_is_not_http() -> None:
    with (
        raw_server(lambda accepted: accepted.sendall(b"SSH-2.0-x\r\n")) as url,
        pytest.raises(UnreachableError, match="cut the connection"),
    ):
        transport_to(url).get("/")


def test_closed_transport(serve: Serve) -> None:
    server = serve(lambda call: call.json({}))
    credentials = Rotating("one")
    transport = transport_to(server, credentials=credentials)
    transport.get("/")
    transport.close()
    assert credentials.closed
    with pytest.raises(UnreachableError, match="the connection is closed"):
        transport.get("/")
    transport.close()


def test_stream_yields_whole_lines(serve: Serve) -> None:
    def answer(call: Call) -> None:
        call.chunks(b"one\ntwo\n", b"th", b"r", b"ee\nfo", b"ur\n", b"\n")
        call.end()

    with transport_to(serve(answer)).stream("/pods", WATCH, silence_seconds=5) as stream:
        assert [bytes(line) for lines in stream.batches() for line in lines] == [b"one", b"two", b"three", b"four"]


def test_stream_that_a_proxy_sends_without_chunks() -> None:
    seen = threading.Event()

    def answer(accepted: socket.socket) -> None:
        accepted.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\none\n")
        seen.wait(10)
        accepted.sendall(b"two\n")

    with raw_server(answer) as url, transport_to(url).stream("/pods", WATCH, silence_seconds=5) as stream:
        batches = stream.batches()
        assert next(batches) == [b"one"]
        seen.set()
        assert list(batches) == [[b"two"]]


@pytest.mark.parametrize(
    ("then", "sentence"),
    [(Call.cut, "cut the connection"), (Call.end, "ended the stream in the middle of a line")],
    ids=["cut", "end"],
)
def test_stream_cut_within_a_line(serve: Serve, then: Callable[[Call], None], sentence: str) -> None:
    def answer(call: Call) -> None:
        call.chunks(b"one\nhal")
        then(call)

    with transport_to(serve(answer)).stream("/pods", WATCH, silence_seconds=5) as stream:
        batches = stream.batches()
        assert next(batches) == [b"one"]
        with pytest.raises(UnreachableError, match=sentence):
            next(batches)


def test_silent_stream(serve: Serve) -> None:
    def answer(call: Call) -> None:
        call.chunks(b"one\n")
        call.stall()

    with transport_to(serve(answer)).stream("/pods", WATCH, silence_seconds=30) as stream:
        batches = stream.batches()
        assert next(batches) == [b"one"]
        stream.allow_silence(0.05)
        with pytest.raises(UnreachableError, match="stopped sending data"):
            next(batches)
    stream.allow_silence(1)


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("closes", [False, True])
def test_stream_shut_by_another_thread(serve: Serve, *, secure: bool, closes: bool) -> None:
    def answer(call: Call) -> None:
        call.chunks(b"one\n")
        call.stall()

    server = serve(answer, tls=server_tls() if secure else None)
    transport = transport_to(server, certificate_authority=pem("authority.pem"))
    reading, ended = threading.Event(), threading.Event()
    failures: list[str] = []

    def read() -> None:
        try:
            with transport.stream("/pods", WATCH, silence_seconds=60) as stream:
                for _ in stream.batches():
                    reading.set()
        except UnreachableError as error:
            failures.append(str(error))
        ended.set()

    thread = threading.Thread(target=read)
    thread.start()
    assert reading.wait(10)
    (transport.close if closes else transport.shut_streams)()
    assert ended.wait(5)
    thread.join()
    assert failures == [f"{server.url} cut the connection"]


def test_stream_opened_while_closing(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(lambda call: call.chunks(b"one\n"))
    transport = transport_to(server)
    send = transport._send

    def close_meanwhile(*args: Any) -> Any:
        response = send(*args)
        transport.close()
        return response

    monkeypatch.setattr(transport, "_send", close_meanwhile)
    with (
        pytest.raises(UnreachableError, match="the connection is closed"),
        transport.stream("/pods", WATCH, silence_seconds=5),
    ):
        pass


def test_client_certificate(serve: Serve) -> None:
    server = serve(lambda call: call.json({}), tls=server_tls(asks_client=True))
    authority = pem("authority.pem")
    transport = transport_to(
        server, certificate_authority=authority, client_certificate=pem("client.pem"), client_key=pem("client.key")
    )
    assert transport.get("/") == b"{}"
    with pytest.raises(UnreachableError, match=r"cut the connection|no secure connection"):
        transport_to(server, certificate_authority=authority).get("/")


def test_rotated_client_certificate_gets_a_new_pool(serve: Serve) -> None:
    server = serve(lambda call: call.json({}), tls=server_tls(asks_client=True))
    good = Grant("", pem("client.pem"), pem("client.key"))
    grants = [Grant(), good]

    class Later(FixedCredentials):
        def current(self) -> Grant:
            return grants[0]

    transport = transport_to(server, credentials=Later(good), certificate_authority=pem("authority.pem"))
    with pytest.raises(UnreachableError):
        transport.get("/")
    grants.pop(0)
    assert transport.get("/") == b"{}"


@pytest.mark.parametrize(("fields", "sentence"), [
    ({"certificate_authority": pem("stranger.pem")}, "the certificate of https://.* is not trusted: .*"),
    ({}, "the certificate of https://.* is not trusted: .*"),
    ({"certificate_authority": pem("authority.pem"), "tls_server_name": "other.test"},
     "the certificate of https://.* is not trusted: .*other.test"),
])  # fmt: skip
def test_untrusted_server(serve: Serve, fields: dict[str, Any], sentence: str) -> None:
    server = serve(lambda call: call.json({}), tls=server_tls())
    with pytest.raises(UnreachableError, match=sentence):
        transport_to(server, **fields).get("/")
    assert server.calls == []


@pytest.mark.parametrize("fields", [
    {"certificate_authority": pem("authority.pem")},
    {"certificate_authority": pem("authority.pem"), "tls_server_name": "api.test"},
    {"skip_tls_verify": True},
])  # fmt: skip
def test_trusted_server(serve: Serve, fields: dict[str, Any]) -> None:
    server = serve(lambda call: call.json({}), tls=server_tls())
    assert transport_to(server, **fields).get("/") == b"{}"


def test_plain_http_answer_if_tls_is_expected(serve: Serve) -> None:
    server = serve(lambda call: call.json({}))
    with pytest.raises(UnreachableError, match="no secure connection to https://"):
        transport_to(server.url.replace("http:", "https:")).get("/")


def proxied(call: Call) -> None:
    call.json({"through": "the proxy", "for": call.path})


def test_proxy_of_the_kubeconfig_is_used(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    proxy = serve(proxied)
    answer = transport_to("http://api.test:1234", proxy_url=proxy.url).get("/version")
    assert json.loads(answer)["through"] == "the proxy"
    assert proxy.calls[0].headers["Host"] == "api.test:1234"


def test_proxy_variables_of_the_environment_are_used(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy, server = serve(proxied), serve(lambda call: call.json({}))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{closed_port()}")
    assert transport_to(server).get("/") == b"{}", "the proxy for https was used for http"
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    assert json.loads(transport_to("http://api.test").get("/"))["through"] == "the proxy"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert transport_to(server).get("/") == b"{}"


def test_secure_server_through_a_proxy(serve: Serve) -> None:
    proxy = serve(Script(lambda call: call.error(403, "no tunnels")))
    with pytest.raises(
        UnreachableError, match=r"^the proxy for https://api\.test does not work: Tunnel connection failed: 403 "
    ):
        transport_to("https://api.test", proxy_url=proxy.url).get("/")
    assert proxy.calls[0].method == "CONNECT"


def test_unreachable_proxy_is_an_error() -> None:
    proxy = f"http://127.0.0.1:{closed_port()}"
    for server in ("https://api.test", "http://api.test"):
        with pytest.raises(UnreachableError) as failure:
            transport_to(server, proxy_url=proxy).get("/")
        assert str(failure.value) == f"the proxy for {server} does not work: Connection refused"


def test_unsupported_proxy_is_an_error() -> None:
    with pytest.raises(
        KubeconfigError,
        match=r"^the proxy socks5://proxy\.test:1 needs the Python package PySocks: pipx inject karptui PySocks$",
    ):
        transport_to("http://api.test", proxy_url="socks5://user:secret@proxy.test:1").get("/")
    with pytest.raises(KubeconfigError, match=r"^the proxy gopher://proxy\.test:1 cannot be used: "):
        transport_to("http://api.test", proxy_url="gopher://user:secret@proxy.test:1").get("/")


@pytest.mark.parametrize(("fields", "sentence"), [
    ({"certificate_authority": pem("server.key")}, r"^server\.key holds no usable PEM certificate: "),
    ({"client_certificate": pem("client.pem"), "client_key": pem("server.key")},
     r"^client\.pem and its key cannot be used: "),
    ({"client_certificate": pem("client.pem"), "client_key": pem("client-encrypted.key")},
     r"^client\.pem and its key cannot be used: "),
    ({"client_certificate": pem("absent.pem"), "client_key": pem("client.key")},
     r"^absent\.pem: cannot read .*: No such"),
])  # fmt: skip
def test_unusable_certificates_are_errors(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(KubeconfigError, match=sentence):
        transport_to("https://127.0.0.1:1", **fields).get("/")


def test_successive_requests_share_a_connection(serve: Serve) -> None:
    ports: set[int] = set()

    def answer(call: Call) -> None:
        ports.add(call._handler.client_address[1])
        call.json({})

    transport = transport_to(serve(answer))
    for _ in range(20):
        transport.get("/")
    assert len(ports) == 1


def test_stream_that_does_not_begin_is_abandoned_early(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.sources.cluster.transport.OPEN_SECONDS", 0.05)
    transport = transport_to(serve(Call.stall))
    opened = transport.stream("/watch", {}, silence_seconds=100)
    with pytest.raises(UnreachableError, match="stopped sending data"):
        opened.__enter__()
