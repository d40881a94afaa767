from __future__ import annotations

import socket
import ssl
import subprocess
import sys

import pytest
from kubernetes.client import rest

from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.connection_pool import POOL_SIZE, connection_pool, goes_without_proxy

from .live import pem


def test_settings_reach_the_pool() -> None:
    connection = Connection(
        server="https://api.test", context="c", certificate_authority=pem("authority.pem"), tls_server_name="other.test"
    )
    pool = connection_pool(connection, None, None)
    settings = pool.connection_pool_kw
    assert isinstance(settings["ssl_context"], ssl.SSLContext)
    assert settings["server_hostname"] == "other.test"
    assert settings["retries"].total is False
    assert settings["maxsize"] == POOL_SIZE
    assert (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1) in settings["socket_options"]
    assert (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1) in settings["socket_options"]


def test_strict_checks_of_authorities_are_off() -> None:
    context = connection_pool(Connection(server="https://x", context="c"), None, None).connection_pool_kw["ssl_context"]
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


SERVERS = (
    "https://api.test", "https://API.test:6443", "http://10.1.2.3", "https://[fd00::1]:6443/path", "https:///none",
)  # fmt: skip
EXCEPTIONS = (
    "", ",", " , *", "*", "api.test", ".test", "test", "st", "other, api.test ", "api.test:6443", "API.TEST",
    "10.1.2.3", "10.0.0.0/8", "10.1.2.0/33", "fd00::/8", ".", "10.1.2.3:80", "[fd00::1]:6443",
)  # fmt: skip


@pytest.mark.skipif(
    rest.should_bypass_proxies.__module__ != rest.__name__, reason="the client before 37 reads NO_PROXY otherwise"
)
@pytest.mark.parametrize("server", SERVERS)
def test_exceptions_from_the_proxy_are_those_of_the_official_client(server: str) -> None:
    ours = [goes_without_proxy(server, entries) for entries in EXCEPTIONS]
    assert ours == [rest.should_bypass_proxies(server, entries) for entries in EXCEPTIONS]


def test_systems_without_all_keepalive_options(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE", "TCP_KEEPCNT"):
        monkeypatch.delattr(socket, name, raising=False)
    options = connection_pool(Connection(server="http://x", context="c"), None, None).connection_pool_kw[
        "socket_options"
    ]
    assert (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1) in options
    assert len(options) == 3


def test_an_unverified_server_does_not_warn_on_the_terminal() -> None:
    code = (
        "import warnings; from karptui.sources.cluster.connection import Connection; "
        "from karptui.sources.cluster.connection_pool import connection_pool; import urllib3; "
        "connection_pool(Connection(server='https://x', context='c', skip_tls_verify=True), None, None); "
        "warnings.warn('unverified', urllib3.exceptions.InsecureRequestWarning)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
