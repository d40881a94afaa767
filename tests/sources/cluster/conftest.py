"""Fixtures of the live source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fake_api_server import Answer, LoopbackServer

from .live import Serve

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


@pytest.fixture(autouse=True, scope="module")
def _no_proxy() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in PROXY_VARIABLES:
            monkeypatch.delenv(name, raising=False)
        yield


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts a loopback server; the fixture closes all servers."""
    servers: list[LoopbackServer] = []

    def start(answer: Answer, **options: Any) -> LoopbackServer:
        servers.append(LoopbackServer(answer, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
