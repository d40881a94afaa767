"""`--serve` on loopback: access control, the maximum number of sessions, and no writing of files."""

from __future__ import annotations

import asyncio
import functools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, ParamSpec
from urllib.parse import urlsplit

import pyte
import pytest

from karptui.cli.main import main
from karptui.cli.open import without_serve
from tests.cli.conftest import Run
from tests.cli.files import a_file

if TYPE_CHECKING:  # The tests import aiohttp themselves, so that other test processes do not pay for the import.
    from aiohttp import ClientSession, ClientWebSocketResponse

pytestmark = pytest.mark.skipif(find_spec("textual_serve") is None, reason="textual-serve is not installed")
SECONDS = 60.0

Params = ParamSpec("Params")


def in_real_time(test: Callable[Params, Coroutine[None, None, None]]) -> Callable[Params, None]:
    """Run a test on an event loop with the real clock, because it talks to another process."""

    @functools.wraps(test)
    def run(*args: Params.args, **kwargs: Params.kwargs) -> None:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(asyncio.wait_for(test(*args, **kwargs), 2 * SECONDS))

    return run


class Served(NamedTuple):
    address: str
    home: Path

    @property
    def origin(self) -> str:
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    def files(self) -> set[Path]:
        return {path for path in self.home.rglob("*") if path.is_file()}


@pytest.fixture(scope="module", name="served")
def served_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("home")
    small = a_file(tmp_path_factory.mktemp("small"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # One session at a time instead of four: each is a process.
    program = "import sys; from karptui.cli import main, serve; serve.MOST_APPS = 1; sys.exit(main.main())"
    words = [sys.executable, "-c", program, "--snapshot", small, "--serve", f"127.0.0.1:{port}"]
    folders = {name: str(home) for name in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=home, env={**os.environ, **folders}) as process:
        assert process.stdout is not None
        try:
            yield Served(process.stdout.readline().split()[-1], home)
        finally:
            process.terminate()


async def status(served: Served, path: str = "", **headers: str) -> int:
    from aiohttp import ClientSession

    async with ClientSession() as session, session.get(f"{served.origin}{path}", headers=headers) as response:
        return response.status


async def connect(session: ClientSession, served: Served, **headers: str) -> ClientWebSocketResponse:
    return await session.ws_connect(f"{served.address}ws?width=100&height=30", headers=headers)


@in_real_time
async def test_the_page_is_served_only_under_its_secret_path(served: Served) -> None:
    from aiohttp import ClientSession

    path = urlsplit(served.address).path
    assert len(path) > 30
    async with ClientSession() as session, session.get(served.address) as response:
        page = await response.text()
        assert response.status == 200
        assert f"{served.address}ws".replace("http:", "ws:") in page
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
    for wrong in ("/", "/ws", "/static/js/textual.js", "/download/x", f"{path[:-2]}/", f"/x{path}"):
        assert await status(served, wrong) == 403


@in_real_time
async def test_requests_with_another_host_header_are_refused(served: Served) -> None:
    path, port = urlsplit(served.address).path, urlsplit(served.address).port
    assert await status(served, path, Host=f"localhost:{port}") == 200
    for host in (f"evil.example:{port}", "127.0.0.1", f"10.0.0.1:{port}", f"127.0.0.1.evil.example:{port}", "[::1", ""):
        assert await status(served, path, Host=host) == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "", "http://127.0.0.1:1"])
@in_real_time
async def test_requests_with_another_origin_are_refused(served: Served, origin: str) -> None:
    from aiohttp import ClientSession, WSServerHandshakeError

    async with ClientSession() as session:
        with pytest.raises(WSServerHandshakeError) as refused:
            await connect(session, served, **({"Origin": origin} if origin else {}))
    assert refused.value.status == 403


async def again(session: ClientSession, served: Served) -> ClientWebSocketResponse:
    """Connect as soon as earlier sessions have ended."""
    from aiohttp import WSServerHandshakeError

    until = time.monotonic() + SECONDS
    while True:
        try:
            return await connect(session, served, Origin=served.origin)
        except WSServerHandshakeError:
            assert time.monotonic() < until


class Terminal:
    """The screen that a browser of the served app shows."""

    def __init__(self, connection: ClientWebSocketResponse) -> None:
        self._connection = connection
        self._screen = pyte.Screen(100, 30)
        self._stream = pyte.ByteStream(self._screen)

    async def type(self, text: str) -> None:
        await self._connection.send_json(["stdin", text])

    async def shows(self, text: str) -> None:
        """Read until the screen shows this text."""
        from aiohttp import WSMsgType

        async with asyncio.timeout(SECONDS):
            while text not in " ".join("".join(self._screen.display).split()):
                message = await self._connection.receive()
                assert message.type is WSMsgType.BINARY, message
                self._stream.feed(message.data)


@in_real_time
async def test_the_number_of_sessions_is_bounded_and_none_writes_a_file(served: Served) -> None:
    from aiohttp import ClientSession, WSServerHandshakeError

    async with ClientSession() as session:
        for command in ("save nodes.csv", "screenshot nodes.svg"):
            connection = await again(session, served)
            terminal = Terminal(connection)
            await terminal.shows("general-")
            with pytest.raises(WSServerHandshakeError) as refused:
                await connect(session, served, Origin=served.origin)
            assert refused.value.status == 503
            await terminal.type(f":{command}")
            await terminal.shows(command)
            await terminal.type("\r")
            await terminal.shows("a session in a browser (--serve) opens and writes no files")
            await connection.close()
    assert served.files() == set()


@pytest.mark.parametrize(("words", "kept"), [
    (["--serve", "--demo"], ["--demo"]),
    (["--demo", "--serve"], ["--demo"]),
    (["--serve", "8080", "--context", "a b"], ["--context", "a b"]),
    (["--serve=0.0.0.0:80", "-l", "a=b"], ["-l", "a=b"]),
])  # fmt: skip
def test_served_sessions_get_all_flags_but_serve(words: list[str], kept: list[str]) -> None:
    assert without_serve(words) == kept


def test_serve_listens_on_the_given_address(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[tuple[object, ...]] = []
    module = ModuleType("karptui.cli.serve")
    vars(module)["serve"] = lambda *given: served.append(given)
    monkeypatch.setitem(sys.modules, "karptui.cli.serve", module)
    for where in ("9000", "10.0.0.1:80", "[::1]:80"):
        monkeypatch.setattr(sys, "argv", ["karptui", "--demo", "--serve", where, "-l", "a in (b)"])
        assert main() == 0
    words = ["--demo", "-l", "a in (b)"]
    assert served == [(words, "", 9000), (words, "10.0.0.1", 80), (words, "::1", 80)]


@pytest.mark.parametrize(("words", "sentence"), [
    (["--serve", "http"], "--serve: http is not a port or HOST:PORT"),
    (["--serve", "localhost:99999"], "--serve: localhost:99999 is not a port"),
    (["--serve", "--theme", "none"], "there is no theme none"),
    (["--serve"], "--serve needs textual-serve: install karptui with the extra serve"),
])  # fmt: skip
def test_invalid_uses_of_serve_are_refused(
    words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setitem(sys.modules, "karptui.cli.serve", None)
    assert sentence in run("--demo", *words, status=2).err
