"""An API server that actions are sent to, over a separate connection."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from karptui.actions.action import Document
from karptui.actions.request import Access, Request
from karptui.sources.actions.permit import Permit
from karptui.sources.cluster.body import decoded
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.credentials import credentials_for
from karptui.sources.cluster.official_client import review_access, send, who_am_i
from karptui.sources.cluster.transport import READ_SECONDS, Transport
from karptui.sources.source import SourceError


class LiveServer:
    """Sends requests as the user of a context."""

    def __init__(self, connection: Connection, *, request_seconds: float | None = None) -> None:
        self._connection = connection
        self._transport: Final = Transport(
            connection, credentials_for(connection), read_seconds=request_seconds or READ_SECONDS
        )
        self._user: tuple[str, str] | None = None

    @property
    def context(self) -> str:
        """Name of the context."""
        return self._connection.context

    @property
    def url(self) -> str:
        """Address of the server."""
        return self._connection.server

    def get(self, path: str) -> Document:
        """Return an object; raises SourceError."""
        return decoded(self._transport.get(path), dict[str, Any], f"{self.url} did not answer with an object")

    def write(self, permit: Permit, request: Request) -> Document:
        """Send a request that changes an object, and return the answer; raises SourceError."""
        return send(self._transport, permit, request)

    def may(self, access: Access) -> tuple[bool, str]:
        """Return whether the user has a permission, and the authorizer's reason; raises SourceError."""
        fields = msgspec.structs.asdict(access)
        return review_access(self._transport, {name: value for name, value in fields.items() if value})

    def user(self) -> tuple[str, str]:
        """Return the user's name, and whether the server or the kubeconfig gave it."""
        if self._user is None:
            try:
                name = who_am_i(self._transport)
            except SourceError:
                name = ""
            whom = self._connection.impersonation
            told = whom.user if whom is not None else self._connection.user
            self._user = (name, "server") if name else (told, "kubeconfig")
        return self._user

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()
