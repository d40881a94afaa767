"""The credential that a plugin of a kubeconfig prints: run, read, and kept fresh."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from karptui.files import size_text
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp
from karptui.sources.cluster.connection import ExecPlugin, Grant, Pem, without_password
from karptui.sources.cluster.errors import CredentialError, one_line

_API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_TIMEOUT_SECONDS: Final = 60.0
"""Long enough for a login in a browser that the user is waiting for."""
_SKEW_SECONDS: Final = 60.0
"""How long before its expiry a credential is renewed, unless a fifth of its life is shorter."""
_RERUN_SECONDS: Final = 5.0
"""Lifetime of one run's result for all threads, so that they do not run a failing plugin in turn."""
_PRINTED_BYTES: Final = 1 << 20
"""Of a credential: a token and two certificates take a hundredth of it."""
PIECE: Final = 1 << 16
_SAID_SECRET: Final = re.compile(
    r"((?:\b[\w-]*(?:token|secret|password|passwd|api[_-]?key|access[_-]?key|signature|credential)\w*[\"']?\s*[:=]|"
    r"\bBearer|\bBasic)\s*[\"']?)[^\s\"',;&}]{4,}",
    re.IGNORECASE,
)
_OPAQUE: Final = re.compile(r"(?=[\w+/=.-]*\d)(?=[\w+/=.-]*[A-Za-z])(?<![\w/.:-])[A-Za-z0-9_+/=-]{32,}(?:\.[\w+/=-]+)*")
"""Letters and digits without end are a key or a token; paths and names of hosts have dots or begin with a slash."""


class _EndlessOutputError(Exception):
    """A process printed too much."""


class _Issued(msgspec.Struct, frozen=True):
    grant: Grant
    at_ns: int
    renew_at_ns: int
    """When to ask again: nanoseconds since the epoch, 0 for never."""


class ExecCredentials:
    """What an exec plugin prints: a token, a client certificate, or both; one thread at a time runs the plugin."""

    def __init__(
        self,
        plugin: ExecPlugin,
        *,
        timeout_seconds: float = _TIMEOUT_SECONDS,
        now_ns: Callable[[], int] = time.time_ns,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._plugin = plugin
        self._timeout_seconds = timeout_seconds
        self._now_ns = now_ns
        self._environ = environ
        self._lock = threading.Lock()
        self._issued: _Issued | None = None
        self._failure: tuple[int, str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def current(self) -> Grant:
        """Return a credential that is not about to expire, running the plugin when there is none.

        Raises:
            CredentialError: when the plugin is missing, fails, takes too long or prints something else.
        """
        with self._lock:
            if self._issued is None or 0 < self._issued.renew_at_ns <= self._now_ns():
                self._renew()
            assert self._issued is not None
            return self._issued.grant

    def refused(self, grant: Grant) -> bool:
        """Run the plugin again, unless it has run since the grant was handed out, or only just before that."""
        with self._lock:
            issued = self._issued
            if issued is not None and issued.grant is grant and not self._is_new(issued.at_ns):
                self._issued = None
        return self.current() is not grant

    def close(self) -> None:
        """End a plugin that is running, with everything it started."""
        self._closed = True
        if (process := self._process) is not None:
            _end(process)

    def _renew(self) -> None:
        if self._failure is not None and self._is_new(self._failure[0]):
            raise CredentialError(self._failure[1])
        try:
            self._issued = self._parse(self._run())
        except CredentialError as error:
            self._failure = (self._now_ns(), str(error))
            raise
        self._failure = None

    def _is_new(self, at_ns: int) -> bool:
        """Return whether a run ended so shortly ago that the plugin is not run again."""
        return self._now_ns() - at_ns < _RERUN_SECONDS * NS_PER_SECOND

    def _run(self) -> bytes:
        plugin = self._plugin
        if plugin.api_version not in _API_VERSIONS:
            raise CredentialError(
                f"{plugin.title}: apiVersion {plugin.api_version!r} is not supported; {' and '.join(_API_VERSIONS)} are"
            )
        if plugin.demands_terminal:
            raise CredentialError(
                f"{plugin.title} demands a terminal (interactiveMode: Always); log in outside karptui first"
            )
        try:
            process = subprocess.Popen(  # noqa: S603  the command is the user's own kubeconfig's
                [plugin.command, *plugin.args],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**self._environ, **plugin.env, "KUBERNETES_EXEC_INFO": self._exec_info()},
                # Without a controlling terminal it cannot open /dev/tty either.
                start_new_session=True,
            )
        except FileNotFoundError:
            raise CredentialError(f"{plugin.title}: command not found. {plugin.install_hint}".rstrip()) from None
        except (OSError, ValueError) as error:
            raise CredentialError(f"{plugin.title} cannot be run: {error}") from error
        self._process = process
        try:
            with process:
                return self._output(process)
        finally:
            self._process = None

    def _output(self, process: subprocess.Popen[bytes]) -> bytes:
        if self._closed:
            _end(process)
        title = self._plugin.title
        try:
            stdout, stderr = printed(process, self._timeout_seconds)
        except TimeoutError:
            _end(process)
            raise CredentialError(f"{title} did not finish within {self._timeout_seconds:g} s") from None
        except _EndlessOutputError:
            _end(process)
            raise CredentialError(
                f"{title} prints more than {size_text(_PRINTED_BYTES)}, so it is no credential"
            ) from None
        if process.returncode:
            words = one_line(without_secrets(stderr.decode(errors="replace")[-2000:])) or "and said nothing"
            raise CredentialError(f"{title} failed with exit status {process.returncode}: {words}")
        return stdout

    def _exec_info(self) -> str:
        spec: dict[str, Any] = {"interactive": False}
        if self._plugin.cluster_info is not None:
            spec["cluster"] = dict(self._plugin.cluster_info)
        return json.dumps({"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec})

    def _parse(self, output: bytes) -> _Issued:
        title = self._plugin.title
        try:
            printed = json.loads(output)
            kind, version, status = printed["kind"], printed["apiVersion"], printed["status"]
            token = status.get("token") or ""
            certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
            expires = status.get("expirationTimestamp")
            expires_ns = parse_timestamp(expires) if expires else 0
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise CredentialError(f"{title} did not print an ExecCredential with a status") from error
        if kind != "ExecCredential" or version != self._plugin.api_version:
            what = one_line(f"{version} {kind}", 100)
            raise CredentialError(f"{title} printed {what} instead of {self._plugin.api_version} ExecCredential")
        if not all(isinstance(part, str) for part in (token, certificate or "", key or "")):
            raise CredentialError(f"{title} printed a token, certificate or key that is not a string")
        if bool(certificate) != bool(key):
            raise CredentialError(f"{title} printed only one of clientCertificateData and clientKeyData")
        if not token and not certificate:
            raise CredentialError(f"{title} printed neither a token nor a client certificate")
        grant = Grant(
            f"Bearer {token}" if token else "",
            Pem(f"clientCertificateData of {title}", data=certificate.encode()) if certificate else None,
            Pem(f"clientKeyData of {title}", data=key.encode()) if key else None,
        )
        return _Issued(grant, self._now_ns(), self._renewal(expires_ns, expires))

    def _renewal(self, expires_ns: int, expires: str | None) -> int:
        if not expires_ns:
            return 0
        life_ns = expires_ns - self._now_ns()
        if life_ns <= 0:
            raise CredentialError(
                f"{self._plugin.title} printed a credential that expired at {expires}; check the clock of this machine"
            )
        return expires_ns - min(int(_SKEW_SECONDS * NS_PER_SECOND), life_ns // 5)


def printed(process: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bytes]:
    """Return the complete output of a process, and the end of its standard error.

    Raises:
        TimeoutError: if it takes longer; it keeps running.
        _EndlessOutputError: if it prints more than any credential; it keeps running.
    """
    until = time.monotonic() + seconds
    output, complaint = bytearray(), bytearray()
    with selectors.DefaultSelector() as ready:
        for pipe, taken in ((process.stdout, output), (process.stderr, complaint)):
            if pipe is not None:
                ready.register(pipe, selectors.EVENT_READ, taken)
        while ready.get_map():
            events = ready.select(until - time.monotonic()) if time.monotonic() < until else ()
            if not events:
                raise TimeoutError
            for key, _ in events:
                piece = os.read(key.fd, PIECE)
                if not piece:
                    ready.unregister(key.fileobj)
                key.data.extend(piece)
            if len(output) > _PRINTED_BYTES:
                raise _EndlessOutputError
            del complaint[:-PIECE]
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return bytes(output), bytes(complaint)


def without_secrets(text: str) -> str:
    """Return a plugin's message without possible secrets: it may contain its token, or a URL with a password."""
    text = _SAID_SECRET.sub(lambda match: f"{match[1]}…", without_password(text))
    return _OPAQUE.sub("…", text)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
