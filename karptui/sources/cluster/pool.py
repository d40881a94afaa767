"""The connections to an API server: TLS, proxies, and probes that notice when one is dead."""

from __future__ import annotations

import importlib.util
import ipaddress
import socket
import ssl
import tempfile
import urllib.request
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3

from karptui.sources.cluster.connection import Connection, Pem, without_password
from karptui.sources.cluster.deadlines import with_time_limits
from karptui.sources.cluster.errors import KubeconfigError, one_line

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
        if name and any(known == name or known.endswith(f".{name}") for known in (host, host_and_port)):
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
