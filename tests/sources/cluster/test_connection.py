from __future__ import annotations

import base64
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import rest

from karptui.kube.yaml_text import to_yaml
from karptui.sources.cluster.connection import (
    OIDC_REFUSED,
    Connection,
    Impersonation,
    load_connection,
    without_password,
)
from karptui.sources.cluster.connection_pool import POOL_SIZE, connection_pool, goes_without_proxy
from karptui.sources.cluster.errors import KubeconfigError
from tests.builders import present

from .live import pem

Fields = dict[str, Any]


def connect(folder: Path, *, cluster: Fields | None = None, user: Fields | None = None, **options: Any) -> Connection:
    """Write a kubeconfig of one context and resolve it."""
    config = {
        "current-context": "ctx",
        "clusters": [{"name": "c", "cluster": {"server": "https://api.test", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "ctx", "context": {"cluster": "c", "user": "u", "namespace": "web"}}],
    }
    (folder / "config").write_text(to_yaml(config))
    return load_connection(kubeconfig=str(folder / "config"), environ={}, **options)


@pytest.mark.parametrize(("cluster", "fields"), [
    ({"server": "https://api.test/k8s/c-1/"}, {"server": "https://api.test/k8s/c-1", "context": "ctx", "user": "u"}),
    ({"server": "10.0.0.1:6443"}, {"server": "http://10.0.0.1:6443"}),
    ({"server": "10.0.0.1:6443", "insecure-skip-tls-verify": True}, {"server": "https://10.0.0.1:6443"}),
    ({"server": "http://10.0.0.1"}, {"server": "http://10.0.0.1"}),
    ({"tls-server-name": "api.internal"}, {"tls_server_name": "api.internal", "skip_tls_verify": False}),
    ({"proxy-url": "socks5://127.0.0.1:1080"}, {"proxy_url": "socks5://127.0.0.1:1080", "compress": True}),
    ({"disable-compression": True}, {"compress": False, "certificate_authority": None}),
    ({"insecure-skip-tls-verify": True}, {"skip_tls_verify": True}),
])  # fmt: skip
def test_cluster_fields_are_read(tmp_path: Path, cluster: Fields, fields: Fields) -> None:
    connection = connect(tmp_path, cluster=cluster)
    assert {name: getattr(connection, name) for name in fields} == fields


def test_relative_paths_start_at_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path.parent)
    connection = connect(
        tmp_path,
        cluster={"certificate-authority": "ca.pem"},
        user={"client-certificate": "cert.pem", "client-key": "key.pem", "tokenFile": "token"},
    )
    assert connection.certificate_authority is not None
    assert connection.certificate_authority.read() == b"ca.pem"
    assert connection.client_certificate is not None
    assert connection.client_certificate.path == tmp_path / "cert.pem"
    assert connection.client_key is not None
    assert connection.client_key.read() == b"key.pem"
    assert connection.token_file == tmp_path / "token"


def test_inline_data_wins_over_files(tmp_path: Path) -> None:
    encoded = base64.b64encode(b"PEM").decode()
    connection = connect(
        tmp_path, cluster={"certificate-authority": "absent.pem", "certificate-authority-data": f"{encoded}\n"}
    )
    assert connection.certificate_authority is not None
    assert connection.certificate_authority.read() == b"PEM"


@pytest.mark.parametrize(("user", "token", "basic", "when_refused"), [
    ({"token": "t", "exec": {"apiVersion": "v", "command": "aws"}}, "t", None, ""),
    ({"username": "me", "password": "pw"}, "", ("me", "pw"), ""),
    ({"auth-provider": {"name": "oidc", "config": {"id-token": "jwt"}}}, "jwt", None, OIDC_REFUSED),
], ids=["token before exec", "password", "OIDC"])  # fmt: skip
def test_authentication_methods(
    tmp_path: Path, user: Fields, token: str, basic: tuple[str, str] | None, when_refused: str
) -> None:
    connection = connect(tmp_path, user=user)
    assert (connection.token, connection.basic, connection.when_refused) == (token, basic, when_refused)
    assert connection.exec_plugin is None


def test_impersonation_from_the_file_and_from_flags(tmp_path: Path) -> None:
    user = {"as": "jane", "as-uid": "1", "as-groups": ["a", "b"], "as-user-extra": {"scopes": ["x"]}}
    assert connect(tmp_path, user=user).impersonation == Impersonation("jane", ("a", "b"), "1", {"scopes": ("x",)})
    flag = Impersonation("joe", ("ops",))
    assert connect(tmp_path, user=user, impersonation=flag).impersonation == flag


def test_exec_plugin(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("PEM")
    connection = connect(
        tmp_path,
        cluster={
            "certificate-authority": "ca.pem",
            "extensions": [{"name": "other"}, {"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}],
        },
        user={
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "./bin/login",
                "args": ["--x"],
                "env": [{"name": "PROFILE", "value": "prod"}],
                "installHint": "get it\nthere",
                "provideClusterInfo": True,
                "interactiveMode": "Always",
            }
        },
    )
    plugin = present(connection.exec_plugin)
    assert plugin.command == str(tmp_path / "bin" / "login")
    assert plugin.args == ("--x",)
    assert plugin.env == {"PROFILE": "prod"}
    assert plugin.install_hint == "get it there"
    assert plugin.demands_terminal
    assert plugin.cluster_info == {
        "server": "https://api.test",
        "certificate-authority-data": base64.b64encode(b"PEM").decode(),
        "config": {"a": 1},
    }


@pytest.mark.parametrize(("cluster", "user", "sentence"), [
    ({"server": ""}, {}, "no server of cluster 'c' in "),
    ({"server": "ftp://x"}, {}, "server of cluster 'c' in .* is not an http or https URL: ftp://x"),
    ({"proxy-url": "ftp://x"}, {}, "proxy-url of cluster 'c' in .* must be an http, https, socks5"),
    ({"certificate-authority": "absent"}, {},
     "certificate-authority of cluster 'c' in .*: cannot read .*absent: No such"),
    ({"certificate-authority-data": "%"}, {}, "certificate-authority-data of cluster 'c' in .* is not base64"),
    ({"certificate-authority-data": "QQ==", "insecure-skip-tls-verify": True}, {},
     "insecure-skip-tls-verify of cluster 'c' in .* cannot be combined with a certificate-authority"),
    ({}, {"client-certificate-data": "QQ=="}, "client-certificate-data of user 'u' in .* has no client-key"),
    ({}, {"token": "t", "username": "n"}, "both a token and a username with password are given of user 'u'"),
    ({}, {"exec": {}, "auth-provider": {"name": "x"}}, "both exec and auth-provider are given of user 'u'"),
    ({}, {"exec": {}}, "exec of user 'u' in .* has no command"),
    ({}, {"exec": {"command": "x"}}, "exec of user 'u' in .* has no apiVersion"),
    ({}, {"exec": {"command": "x", "apiVersion": "v", "env": [{"value": "1"}]}}, "has an env entry without a name"),
    ({}, {"exec": {"command": "x", "apiVersion": "v", "interactiveMode": "Maybe"}},
     "interactiveMode 'Maybe' of exec"),
    ({}, {"auth-provider": {"name": "gcp"}},
     "auth-provider 'gcp' of user 'u' in .* is not supported; use an exec plugin"),
    ({}, {"as-groups": ["a"]}, "as-groups, as-uid or as-user-extra of user 'u' in .* needs as"),
])  # fmt: skip
def test_errors_name_the_file_and_the_field(tmp_path: Path, cluster: Fields, user: Fields, sentence: str) -> None:
    with pytest.raises(KubeconfigError, match=sentence):
        connect(tmp_path, cluster=cluster, user=user)


CONTEXTS = """
clusters: [{name: c, cluster: {server: https://x}}]
contexts:
- {name: production, context: {cluster: c}}
- {name: homeless, context: {user: u}}
- {name: lost, context: {cluster: nowhere}}
- {name: stranger, context: {cluster: c, user: nobody}}
"""


@pytest.mark.parametrize(("text", "context", "sentence"), [
    ("", None, r"choose with --context \(none is defined\)"),
    ("", "x", "there is no context x; there are none"),
    (CONTEXTS, None, r"current-context is not set; choose with --context \(production, homeless, lost, stranger\)"),
    (CONTEXTS, "prodution", r"there is no context prodution; did you mean production\?"),
    (CONTEXTS, "xyz", "there is no context xyz; there are production, homeless, lost, stranger"),
    (CONTEXTS, "homeless", "context 'homeless' names no cluster"),
    (CONTEXTS, "lost", "context 'lost' names the cluster 'nowhere', which no kubeconfig file defines"),
    (CONTEXTS, "stranger", "context 'stranger' names the user 'nobody', which no kubeconfig file defines"),
])  # fmt: skip
def test_unusable_contexts_are_errors(tmp_path: Path, text: str, context: str | None, sentence: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(KubeconfigError, match=sentence):
        load_connection(kubeconfig=str(tmp_path / "config"), context=context, environ={})


def service_account(folder: Path) -> Path:
    folder.mkdir()
    (folder / "token").write_text("t")
    (folder / "ca.crt").write_text("PEM")
    return folder


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_service_account_is_used_in_a_pod(tmp_path: Path, host: str, server: str) -> None:
    folder = service_account(tmp_path / "sa")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    connection = load_connection(environ=environ, home=tmp_path, service_account=folder)
    assert (connection.server, connection.context) == (server, "in-cluster")
    assert connection.token_file == folder / "token"
    assert connection.certificate_authority is not None
    assert connection.certificate_authority.read() == b"PEM"
    connection = load_connection(
        environ=environ, home=tmp_path, service_account=folder, impersonation=Impersonation("a")
    )
    assert connection.impersonation == Impersonation("a")


def test_kubeconfig_wins_over_the_pod(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("current-context: production" + CONTEXTS)
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    folder = service_account(tmp_path / "sa")
    assert load_connection(environ=environ, home=tmp_path, service_account=folder).context == "production"


def test_error_without_kubeconfig_outside_a_pod(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match=r"no kubeconfig: .*/\.kube/config does not exist, and this is not a pod"):
        load_connection(environ={}, home=tmp_path, service_account=tmp_path)


@pytest.mark.parametrize("server", [
    "http://[::1",
    "https://host:99999",
    "https://host:abc",
    "https://h ost",
    "https://h\x01ost",
    "http://h/?a=b",
    "http://h#x",
    "https://..",
    "https://" + "a" * 70 + ".com",
    "http://me:hunter2@h:99999",
])  # fmt: skip
def test_invalid_server_and_proxy_urls_are_errors(tmp_path: Path, server: str) -> None:
    with pytest.raises(KubeconfigError, match=r"server of cluster 'c' .* is not an http or https URL") as caught:
        connect(tmp_path, cluster={"server": server})
    assert "hunter2" not in str(caught.value)
    with pytest.raises(KubeconfigError, match=r"proxy-url of cluster 'c' .* must be an http"):
        connect(tmp_path, cluster={"proxy-url": server.replace("#x", " ").replace("/?a=b", "\t")})


def test_a_password_in_the_servers_url_is_a_credential_and_not_shown(tmp_path: Path) -> None:
    connection = connect(tmp_path, cluster={"server": "https://me:hunter%402@api.test:6443/x"})
    assert (connection.server, connection.basic) == ("https://api.test:6443/x", ("me", "hunter@2"))
    other = connect(tmp_path, cluster={"server": "https://me:hunter2@api.test"}, user={"token": "t"})
    assert (other.server, other.basic, other.token) == ("https://api.test", None, "t")


def test_urls_are_shown_without_passwords() -> None:
    text = 'proxyconnect to "http://me:hunter2@proxy:3128" for https://api.test/a@b failed'
    assert without_password(text) == 'proxyconnect to "http://proxy:3128" for https://api.test/a@b failed'


def test_connection_settings_reach_the_pool() -> None:
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


def test_certificates_are_verified_without_x509_strict() -> None:
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
def test_no_proxy_entries_match_as_in_the_official_client(server: str) -> None:
    ours = [goes_without_proxy(server, entries) for entries in EXCEPTIONS]
    assert ours == [rest.should_bypass_proxies(server, entries) for entries in EXCEPTIONS]


def test_keepalive_works_without_the_systems_tcp_options(monkeypatch: pytest.MonkeyPatch) -> None:
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
