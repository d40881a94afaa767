"""The official client's connection pool, set up for TLS, proxies and dead connections.

No other module imports that client, and nothing else of it is used: its models are forty times slower than a typed
decode, and its watch neither notices a dead connection nor backs off. Importing it takes longer than drawing the first
frame, so that only source threads do.
"""

from __future__ import annotations

import importlib.util
import socket
import ssl
import tempfile
import urllib.request
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import urllib3
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject

from karptui.sources.cluster.connection import Connection, Pem
from karptui.sources.cluster.errors import ConfigError, one_line

POOL_SIZE: Final = 64
"""More than there are streams and requests at a time: an overfull pool drops connections with a warning."""
KEEPALIVE_IDLE_SECONDS: Final = 15
KEEPALIVE_INTERVAL_SECONDS: Final = 5
KEEPALIVE_PROBES: Final = 3


def connection_pool(connection: Connection, certificate: Pem | None, key: Pem | None) -> urllib3.PoolManager:
    """Return the official client's pool, set up for a connection.

    Raises:
        ConfigError: when a certificate, a key or the proxy cannot be used.
    """
    settings = Configuration()
    settings.host = connection.server
    settings.verify_ssl = not connection.skip_tls_verify
    settings.tls_server_name = connection.tls_server_name or None
    settings.retries = False
    settings.connection_pool_maxsize = POOL_SIZE
    settings.socket_options = _keepalive()
    settings.proxy, settings.no_proxy = _proxy(connection)
    if (settings.proxy or "").startswith("socks") and importlib.util.find_spec("socks") is None:
        what = f"the proxy {_without_password(settings.proxy)} needs the Python package PySocks"
        raise ConfigError(f"{what}: pipx inject karptui PySocks")
    try:
        pool: urllib3.PoolManager = RESTClientObject(settings).pool_manager
    except (ValueError, urllib3.exceptions.HTTPError) as error:
        raise ConfigError(
            f"the proxy {_without_password(settings.proxy)} cannot be used: {one_line(str(error))}"
        ) from error
    if connection.server.startswith("https"):
        # The pool hands these on to each connection; the client has no setting for a context of one's own.
        pool.connection_pool_kw["ssl_context"] = tls_context(connection, certificate, key)
    if connection.skip_tls_verify:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return pool


def tls_context(connection: Connection, certificate: Pem | None, key: Pem | None) -> ssl.SSLContext:
    """Return the TLS settings of a connection.

    Raises:
        ConfigError: naming the certificate or key that cannot be used.
    """
    authority = connection.certificate_authority
    try:
        context = ssl.create_default_context(cadata=authority.read().decode("ascii") if authority is not None else None)
    except (ssl.SSLError, ValueError) as error:
        assert authority is not None
        raise ConfigError(f"{authority.title} holds no usable PEM certificate: {one_line(str(error))}") from error
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
            raise ConfigError(f"{certificate.title} and its key cannot be used: {one_line(str(error))}") from error


def _proxy(connection: Connection) -> tuple[str | None, str | None]:
    """Return the proxy and the hosts that go without; as in kubectl, NO_PROXY is for a proxy of the environment."""
    if connection.proxy_url:
        return connection.proxy_url, None
    environment = urllib.request.getproxies_environment()
    return environment.get(urlsplit(connection.server).scheme), environment.get("no")


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


def _without_password(url: str | None) -> str:
    parts = urlsplit(url or "")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
