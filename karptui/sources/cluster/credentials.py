"""What identifies the user on each request: tokens, files that are rotated, plugins that are run."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from karptui.files import read_file
from karptui.sources.cluster.connection import Connection, Grant
from karptui.sources.cluster.errors import CredentialError
from karptui.sources.cluster.exec_plugin import ExecCredentials

TOKEN_BYTES: Final = 1 << 20
TOKEN_FILE_SECONDS: Final = 60.0
"""Lifetime of a token file's content, as in client-go, in seconds."""


class Credentials(Protocol):
    """Hands out grants; safe to use from several threads."""

    def current(self) -> Grant:
        """Return the current grant."""
        ...

    def refused(self, grant: Grant) -> bool:
        """Note that the server answered 401 to a grant; return whether there is a different one.

        Raises:
            CredentialError: if a new one is needed and unavailable.
        """
        ...

    def close(self) -> None:
        """Cancel running work."""
        ...


class FixedCredentials:
    """A token, a password, a client certificate, or nothing: never changes."""

    def __init__(self, grant: Grant, when_refused: str = "") -> None:
        self._grant = grant
        self._when_refused = when_refused

    def current(self) -> Grant:
        """Return the one grant."""
        return self._grant

    def refused(self, grant: Grant) -> bool:  # noqa: ARG002  part of the protocol
        """Return False: there is no other grant."""
        if self._when_refused:
            raise CredentialError(self._when_refused)
        return False

    def close(self) -> None:
        """Do nothing."""


class FileCredentials:
    """A bearer token in a file that is rotated."""

    def __init__(self, path: Path, fallback: str = "", *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._fallback = fallback
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._grant: Grant | None = None
        self._read_at = 0.0

    def current(self) -> Grant:
        """Return the token, read again once a minute."""
        with self._lock:
            if self._grant is None or self._monotonic() - self._read_at >= TOKEN_FILE_SECONDS:
                self._read()
            assert self._grant is not None
            return self._grant

    def refused(self, grant: Grant) -> bool:
        """Read the file at once, unless another thread has; return whether the token has changed."""
        with self._lock:
            if self._grant is grant:
                self._read()
            return self._grant is not grant

    def close(self) -> None:
        """Do nothing."""

    def _read(self) -> None:
        try:
            token = read_file(self._path, TOKEN_BYTES).decode().strip() or self._fallback
        except (OSError, UnicodeDecodeError) as error:
            if self._grant is not None:
                return
            if not self._fallback:
                why = (error.strerror or error) if isinstance(error, OSError) else "it is not text"
                raise CredentialError(f"cannot read the token file {self._path}: {why}") from error
            token = self._fallback
        if not token:
            raise CredentialError(f"the token file {self._path} is empty")
        self._read_at = self._monotonic()
        header = f"Bearer {token}"
        if self._grant is None or self._grant.authorization != header:
            self._grant = Grant(header)


def credentials_for(connection: Connection) -> Credentials:
    """Return the credentials that a connection asks for."""
    if connection.token_file is not None:
        return FileCredentials(connection.token_file, connection.token)
    if connection.exec_plugin is not None:
        return ExecCredentials(connection.exec_plugin)
    authorization = ""
    if connection.token:
        authorization = f"Bearer {connection.token}"
    elif connection.basic is not None:
        authorization = "Basic " + base64.b64encode(":".join(connection.basic).encode()).decode()
    grant = Grant(authorization, connection.client_certificate, connection.client_key)
    return FixedCredentials(grant, connection.when_refused)
