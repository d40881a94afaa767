"""``--serve``: the app in a browser, for whoever has the address that is printed.

textual-serve runs an app for each WebSocket, and lets anyone connect. This module first checks the Host (against
DNS rebinding), the Origin (against other pages in the same browser), and a random token in the path, and bounds the
number of apps.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server

from karptui.cli.streams import put
from karptui.paths import own_command
from karptui.views.sanitize import page

MOST_APPS: Final = 4
"""Apps at the same time: each is a process that follows the cluster."""
LOOPBACK: Final = "127.0.0.1"
SHUTDOWN_SECONDS: Final = 2.0
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; style-src 'self' 'unsafe-inline'; font-src 'self'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class GuardedServer(Server):  # type: ignore[misc]  # no types if it is not installed
    """Serves apps to whoever has the token."""

    def __init__(self, command: Sequence[str], *, host: str, port: int) -> None:
        super().__init__(shlex.join(command), host=host or LOOPBACK, port=port, title="karptui")
        self._token = secrets.token_urlsafe(24)
        self._apps = 0

    @property
    def address(self) -> str:
        """The address that opens the app."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/{self._token}/"

    async def guarded(self) -> web.Application:
        """Return the application, which checks each request first."""
        app = web.Application(middlewares=[self._guard])
        app.on_response_prepare.append(_add_headers)
        app.add_subapp(f"/{self._token}/", await self._make_app())
        return app

    def run(self) -> None:
        """Serve until interrupted."""
        web.run_app(
            self.guarded(),
            host=self.host,
            port=self.port,
            access_log=None,
            print=self._announce,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing yet: no one can connect."""

    def _announce(self, _: str) -> None:
        put(page(f"karptui is served on {self.address}"))
        put(page("Whoever has this address sees the cluster with your credentials. Served sessions write no files."))
        if not _is_loopback(self.host):
            put(page("The connection is not encrypted: others on the network can read the address and the data."))
        put(page("Press ctrl+c to end."))
        sys.stdout.flush()

    async def handle_index(self, request: web.Request) -> Any:
        """Return the page, whose links have the host that the browser used."""
        page = copy(self)
        page.public_url = f"http://{request.host}"
        return await Server.handle_index(page, request)

    async def handle_websocket(self, request: web.Request) -> web.StreamResponse:
        """Run an app for a page of ours, if there are not too many."""
        if request.headers.get("Origin") != f"http://{request.host}":
            raise web.HTTPForbidden(text="the Origin of this WebSocket is not karptui's own page")
        if self._apps >= MOST_APPS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_APPS} sessions are open; close one of them first")
        self._apps += 1
        try:
            response: web.StreamResponse = await super().handle_websocket(request)
            return response
        finally:
            self._apps -= 1

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Refuse requests for another host, from another page, or without the token."""
        if not self._is_host(request.host):
            raise web.HTTPForbidden(text="the Host of this request is not where karptui is served")
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{request.host}":
            raise web.HTTPForbidden(text="the Origin of this request is not karptui's own page")
        token = request.path.split("/")[1]
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            raise web.HTTPForbidden(text="this address lacks the token that karptui --serve printed")
        return await handler(request)

    def _is_host(self, host: str) -> bool:
        """Return whether a Host header names this server: DNS can give any other name this machine's address."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if port != self.port:
            return False
        if _is_loopback(self.host):
            return _is_loopback(name)
        return name in {self.host.lower(), socket.gethostname().lower(), "localhost"} or _is_address(name)


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def serve(words: Sequence[str], host: str, port: int) -> None:
    """Serve the app that a command line opens until interrupted."""
    GuardedServer(own_command(*words), host=host, port=port).run()
