"""The connections to an API server: TLS, proxies, probes that notice when one is dead, and a total timeout.

urllib3 restarts its timeout with every byte, so that a slow answer never ends. Our connections and botocore's have
a total timeout as well.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import io
import ipaddress
import socket
import ssl
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

import urllib3

from karptui.sources.cluster.connection import Connection, Pem, without_password
from karptui.sources.cluster.errors import KubeconfigError, one_line

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

ANSWER_SECONDS: Final = 300.0
"""From the end of an answer's headers to its last byte, the sizes of chunks and trailers included."""


class TooSlowError(TimeoutError):
    """An answer comes, but too slowly."""


class TooMuchError(OSError):
    """An answer has more bytes than are read of one."""


class TimedReads(io.RawIOBase):
    """Reads from a socket, until a deadline if there is one, and limited in size."""

    def __init__(
        self, raw: io.RawIOBase, sock: socket.socket, most_bytes: float, received: Callable[[bytes], None]
    ) -> None:
        self.untimed: Final = raw
        """The same, without a limit."""
        self._sock = sock
        self._silence = sock.gettimeout()
        self._until: float | None = None
        self._left = most_bytes
        self._received = received

    def end_within(self, seconds: float | None) -> None:
        """Set the deadline to some seconds from now; None for none."""
        self._until = None if seconds is None else time.monotonic() + seconds
        self._sock.settimeout(self._silence)

    def allow_silence(self, seconds: float) -> None:
        """Set the read timeout, without a total deadline."""
        self._silence = seconds
        with contextlib.suppress(OSError):  # closed meanwhile
            self.end_within(None)

    def readable(self) -> bool:
        """Return that it is there to be read."""
        return True

    def readinto(self, space: WriteableBuffer) -> int | None:
        """Read once.

        Raises:
            TooSlowError: when the time is up.
            TimeoutError: when nothing comes.
            TooMuchError: when there is more than is read of an answer.
        """
        if self._until is not None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TooSlowError
            if self._silence is None or left < self._silence:
                self._sock.settimeout(left)
        count = self.untimed.readinto(space)
        self._left -= count or 0
        if self._left < 0:
            raise TooMuchError
        if count:
            self._received(memoryview(space)[:count].tobytes())
        return count

    def close(self) -> None:
        """Let go of the socket."""
        self.untimed.close()
        super().close()


class TimedResponse(http.client.HTTPResponse):
    """An answer whose headers, and by default body, have a total timeout."""

    answer_seconds: ClassVar[float] = ANSWER_SECONDS
    most_bytes: ClassVar[float] = float("inf")

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.reads: Final = TimedReads(self.fp.detach(), sock, self.most_bytes, self.received)
        self.fp = io.BufferedReader(self.reads)
        # An answer of a proxy to CONNECT is read without begin().
        self.reads.end_within(sock.gettimeout())

    @staticmethod
    def received(part: bytes) -> None:
        """Handle a part that was read; subclasses raise to stop."""

    def begin(self) -> None:
        """Read the headers."""
        super().begin()
        self.reads.end_within(self.answer_seconds)


def with_time_limits(pool: urllib3.PoolManager) -> urllib3.PoolManager:
    """Have all connections of a pool give their answers a time."""
    classes: dict[str, Any] = pool.pool_classes_by_scheme
    pool.pool_classes_by_scheme = {scheme: _timed(pool_class) for scheme, pool_class in classes.items()}
    return pool


def _timed(pool_class: Any) -> Any:
    """Return the same class of connections but for their answers; by its own name, as errors tell it."""
    plain = pool_class.ConnectionCls
    connection_class = type(plain.__name__, (plain,), {"response_class": TimedResponse})
    return type(pool_class.__name__, (pool_class,), {"ConnectionCls": connection_class})


POOL_SIZE: Final = 64
"""More than there are streams and requests at a time: an overfull pool drops connections with a warning."""
KEEPALIVE_IDLE_SECONDS: Final = 15
KEEPALIVE_INTERVAL_SECONDS: Final = 5
KEEPALIVE_PROBES: Final = 3
SOCKS: Final = ("socks4://", "socks4a://", "socks5://", "socks5h://")


def connection_pool(connection: Connection, certificate: Pem | None, key: Pem | None) -> urllib3.PoolManager:
    """Return a pool of connections.

    Raises:
        KubeconfigError: when a certificate, a key or the proxy cannot be used.
    """
    settings: dict[str, Any] = {
        "retries": urllib3.Retry(total=False),
        "maxsize": POOL_SIZE,
        "socket_options": _keepalive(),
        "cert_reqs": ssl.CERT_NONE if connection.skip_tls_verify else ssl.CERT_REQUIRED,
    }
    if connection.tls_server_name:
        settings["server_hostname"] = connection.tls_server_name
    if connection.server.startswith("https"):
        settings["ssl_context"] = tls_context(connection, certificate, key)
    proxy = _proxy(connection)
    try:
        pool = with_time_limits(_pool(proxy, settings))
    except (ValueError, urllib3.exceptions.HTTPError) as error:
        what = f"the proxy {without_password(proxy)} cannot be used"
        raise KubeconfigError(f"{what}: {one_line(without_password(str(error)))}") from error
    if connection.skip_tls_verify:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return pool


def _pool(proxy: str, settings: dict[str, Any]) -> urllib3.PoolManager:
    if not proxy:
        return urllib3.PoolManager(**settings)
    if not proxy.lower().startswith(SOCKS):
        return urllib3.ProxyManager(proxy, **settings)
    if importlib.util.find_spec("socks") is None:
        what = f"the proxy {without_password(proxy)} needs the Python package PySocks"
        raise KubeconfigError(f"{what}: pipx inject karptui PySocks")
    from urllib3.contrib.socks import SOCKSProxyManager  # noqa: PLC0415  needs a package that few have

    return SOCKSProxyManager(proxy, **settings)


def tls_context(connection: Connection, certificate: Pem | None, key: Pem | None) -> ssl.SSLContext:
    """Return the TLS settings of a connection.

    Raises:
        KubeconfigError: naming the certificate or key that cannot be used.
    """
    authority = connection.certificate_authority
    try:
        context = ssl.create_default_context(cadata=authority.read().decode("ascii") if authority is not None else None)
    except (ssl.SSLError, ValueError) as error:
        assert authority is not None
        raise KubeconfigError(f"{authority.title} holds no usable PEM certificate: {one_line(str(error))}") from error
    # Python 3.13 turns this on by default; certificate authorities of many clusters lack the extensions it asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if connection.skip_tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None and key is not None:
        _load_pair(context, certificate, key)
    return context


def _load_pair(context: ssl.SSLContext, certificate: Pem, key: Pem) -> None:
    # OpenSSL reads a key from files only; inline keys lie on disk, readable to this user alone, for just this long.
    with tempfile.TemporaryDirectory(prefix="karptui-") as folder:
        paths = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        for path, pem in zip(paths, (certificate, key), strict=True):
            path.write_bytes(pem.read())
        try:
            # A password is given so that OpenSSL does not ask for one on the terminal.
            context.load_cert_chain(*paths, password="")
        except (ssl.SSLError, ValueError) as error:
            raise KubeconfigError(f"{certificate.title} and its key cannot be used: {one_line(str(error))}") from error


def _proxy(connection: Connection) -> str:
    """Return the proxy, empty for none; as in kubectl, NO_PROXY is for a proxy of the environment."""
    if connection.proxy_url:
        return connection.proxy_url
    environment = urllib.request.getproxies_environment()
    proxy = environment.get(urlsplit(connection.server).scheme, "")
    return "" if goes_without_proxy(connection.server, environment.get("no", "")) else proxy


def goes_without_proxy(url: str, exceptions: str) -> bool:
    """Whether NO_PROXY names a server: its host or a domain above it, with or without the port, or its network."""
    parts = urlsplit(url)
    host, host_and_port = (parts.hostname or "").lower(), parts.netloc.lower()
    for entry in (entry.strip().lower() for entry in exceptions.split(",")):
        if entry == "*" or (entry and _is_in_network(host, entry)):
            return True
        name = entry.lstrip(".")
        if name and any(this_host == name or this_host.endswith(f".{name}") for this_host in (host, host_and_port)):
            return True
    return not host


def _is_in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _keepalive() -> list[tuple[int, int, int]]:
    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    # macOS calls the first of these TCP_KEEPALIVE.
    idle = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None))
    for option, value in (
        (idle, KEEPALIVE_IDLE_SECONDS),
        (getattr(socket, "TCP_KEEPINTVL", None), KEEPALIVE_INTERVAL_SECONDS),
        (getattr(socket, "TCP_KEEPCNT", None), KEEPALIVE_PROBES),
    ):
        if option is not None:
            options.append((socket.IPPROTO_TCP, option, value))
    return options
