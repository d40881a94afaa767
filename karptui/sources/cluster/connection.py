"""Everything needed to talk to one API server as one user, found as kubectl would: in a kubeconfig, or in a pod."""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

import msgspec

from karptui.errors import no_such
from karptui.files import read_file
from karptui.sources.cluster.errors import KubeconfigError, one_line
from karptui.sources.cluster.kubeconfig import Defined, Exec, Kubeconfig, KubeconfigCluster, User, load_kubeconfig


class Impersonation(msgspec.Struct, frozen=True):
    """Whom to act as."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


PEM_BYTES: Final = 16 << 20
"""Of a file of certificates; a bundle of all authorities takes a hundredth of it."""


class Pem(msgspec.Struct, frozen=True):
    """A certificate or a key, in a file or inline, and what to call it when it cannot be used."""

    title: str
    """Such as ``client-certificate of user "dev" in /home/me/.kube/config``."""
    path: Path | None = None
    data: bytes | None = None

    def read(self) -> bytes:
        """Return the PEM text; a file is read again each time, since certificates are rotated."""
        if self.data is not None:
            return self.data
        assert self.path is not None
        try:
            return read_file(self.path, PEM_BYTES)
        except OSError as error:
            raise KubeconfigError(f"{self.title}: cannot read {self.path}: {error.strerror or error}") from error


class Grant(msgspec.Struct, frozen=True):
    """The credential of one request; compared by identity to detect a replaced one."""

    authorization: str = ""
    certificate: Pem | None = None
    key: Pem | None = None


class ExecPlugin(msgspec.Struct, frozen=True):
    """A command that prints a credential, and its inputs."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    api_version: str
    install_hint: str
    demands_terminal: bool
    """``interactiveMode: Always``."""
    cluster_info: Mapping[str, object] | None
    """The ``spec.cluster`` it is given; None unless ``provideClusterInfo`` is set."""
    title: str
    """Such as ``exec plugin aws of user "dev" in /home/me/.kube/config``."""


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """One API server and one way to authenticate to it."""

    server: str
    """URL without a trailing slash; may carry a path."""
    context: str
    """The context's name, ``in-cluster`` inside a pod."""
    user: str = ""
    certificate_authority: Pem | None = None
    """None trusts the system's certificates."""
    skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    """Empty leaves the choice to HTTPS_PROXY and NO_PROXY."""
    compress: bool = True
    client_certificate: Pem | None = None
    client_key: Pem | None = None
    token: str = ""
    when_refused: str = ""
    """Advice once ``token`` is rejected; empty if there is none."""
    token_file: Path | None = None
    """Read again and again, as it gets rotated; wins over ``token`` while it can be read."""
    basic: tuple[str, str] | None = None
    exec_plugin: ExecPlugin | None = None
    impersonation: Impersonation | None = None


SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXEC_CLUSTER_EXTENSION: Final = "client.authentication.k8s.io/exec"
OIDC_REFUSED: Final = (
    "the API server rejects the id-token of auth-provider oidc, and karptui does not renew it: "
    "run any kubectl command, then restart karptui; an exec plugin avoids this"
)
_CREDENTIALS: Final = re.compile(r"(?<=//)[^/@]*@")
PROXY_SCHEMES: Final = ("http", "https", "socks5", "socks5h")

Entry = TypeVar("Entry")


def load_connection(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    impersonation: Impersonation | None = None,
    environ: Mapping[str, str] = os.environ,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Connection:
    """Return the connection that kubectl would use.

    Args:
        context: ``--context``; None for the current context.
        impersonation: ``--as`` and ``--as-group``; overrides the kubeconfig.
        environ: ``KUBECONFIG``, and a pod's variables for its API server.
        service_account: Mount path of a pod's credentials.

    Raises:
        KubeconfigError: with file and field.
    """
    config = load_kubeconfig(kubeconfig, environ=environ, home=home)
    name = config.current_context if context is None else context
    if not name and kubeconfig is None and (inside := _in_cluster(environ, service_account, impersonation)) is not None:
        return inside
    if not config.files:
        missing = f"no kubeconfig: {config.title} does not exist, and this is not a pod in a cluster"
        raise KubeconfigError(f"{missing}; --demo and --snapshot need none")
    if not name:
        names = ", ".join(config.contexts) or "none is defined"
        raise KubeconfigError(f"{config.title}: current-context is not set; choose with --context ({names})")
    return resolve(config, name, impersonation)


def resolve(config: Kubeconfig, context: str, impersonation: Impersonation | None = None) -> Connection:
    """Return the connection of a context."""
    chosen = config.contexts.get(context)
    if chosen is None:
        raise KubeconfigError(f"{config.title}: {no_such('context', context, config.contexts)}")
    if not chosen.value.cluster:
        raise KubeconfigError(f"{chosen.file}: context {context!r} names no cluster")
    cluster = _entry(config.clusters, chosen.value.cluster, "cluster", context, chosen.file)
    user_name = chosen.value.user or ""
    user = _entry(config.users, user_name, "user", context, chosen.file) if user_name else Defined(User(), chosen.file)
    of_cluster = f"of cluster {chosen.value.cluster!r} in {cluster.file}"
    of_user = f"of user {user_name!r} in {user.file}"
    authority = _pem(
        "certificate-authority",
        of_cluster,
        cluster.file,
        cluster.value.certificate_authority,
        cluster.value.certificate_authority_data,
    )
    skip = bool(cluster.value.insecure_skip_tls_verify)
    if skip and authority is not None:
        raise KubeconfigError(f"insecure-skip-tls-verify {of_cluster} cannot be combined with a certificate-authority")
    certificate, key = _client_pair(user, of_user)
    basic = (
        (user.value.username or "", user.value.password or "") if user.value.username or user.value.password else None
    )
    _only_one_method(user.value, of_user)
    secure = authority is not None or skip or certificate is not None
    server, in_url = _server(cluster.value.server, of_cluster, secure=secure)
    has_other = bool(user.value.token or user.value.token_file or basic or certificate)
    if in_url is not None and not has_other and user.value.exec is None:
        basic = in_url
    return Connection(
        server=server,
        context=context,
        user=user_name,
        certificate_authority=authority,
        skip_tls_verify=skip,
        tls_server_name=cluster.value.tls_server_name or "",
        proxy_url=_proxy(cluster.value.proxy_url, of_cluster),
        compress=not cluster.value.disable_compression,
        client_certificate=certificate,
        client_key=key,
        token=user.value.token or _id_token(user.value, of_user),
        when_refused=OIDC_REFUSED if user.value.auth_provider is not None and not user.value.token else "",
        token_file=_beside(user.file, user.value.token_file) if user.value.token_file else None,
        basic=basic,
        exec_plugin=_exec_plugin(
            user,
            of_user,
            cluster,
            authority,
            has_other=has_other,
        ),
        impersonation=impersonation or _impersonation(user.value, of_user),
    )


def _entry(entries: Mapping[str, Defined[Entry]], name: str, what: str, context: str, file: Path) -> Defined[Entry]:
    entry = entries.get(name)
    if entry is None:
        raise KubeconfigError(
            f"{file}: context {context!r} names the {what} {name!r}, which no kubeconfig file defines"
        )
    return entry


def _beside(file: Path, path: str) -> Path:
    return file.absolute().parent / path


def _pem(name: str, owner: str, file: Path, path: str | None, data: str | None) -> Pem | None:
    if data:
        try:
            return Pem(f"{name}-data {owner}", data=base64.b64decode("".join(data.split()), validate=True))
        except (binascii.Error, ValueError) as error:
            raise KubeconfigError(f"{name}-data {owner} is not base64: {one_line(str(error))}") from error
    if not path:
        return None
    pem = Pem(f"{name} {owner}", path=_beside(file, path))
    pem.read()
    return pem


def _client_pair(user: Defined[User], owner: str) -> tuple[Pem | None, Pem | None]:
    certificate = _pem(
        "client-certificate", owner, user.file, user.value.client_certificate, user.value.client_certificate_data
    )
    key = _pem("client-key", owner, user.file, user.value.client_key, user.value.client_key_data)
    if certificate is not None and key is None:
        raise KubeconfigError(f"{certificate.title} has no client-key")
    return (certificate, key) if certificate is not None else (None, None)


def _only_one_method(user: User, owner: str) -> None:
    if user.token and (user.username or user.password):
        raise KubeconfigError(f"both a token and a username with password are given {owner}; kubectl takes only one")
    if user.exec is not None and user.auth_provider is not None:
        raise KubeconfigError(f"both exec and auth-provider are given {owner}; kubectl takes only one")


def _server(server: str | None, owner: str, *, secure: bool) -> tuple[str, tuple[str, str] | None]:
    """Return the server's URL, and the user and password in it."""
    if not server:
        raise KubeconfigError(f"no server {owner}")
    url = server if "://" in server else f"{'https' if secure else 'http'}://{server}"
    parts = checked_url(url, ("http", "https"))
    if parts is None or parts.query or parts.fragment:
        raise KubeconfigError(f"server {owner} is not an http or https URL: {one_line(without_password(server), 100)}")
    basic = (unquote(parts.username or ""), unquote(parts.password or "")) if parts.username else None
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", "")), basic


def _proxy(url: str | None, owner: str) -> str:
    if not url:
        return ""
    if checked_url(url, PROXY_SCHEMES) is None:
        raise KubeconfigError(f"proxy-url {owner} must be an {', '.join(PROXY_SCHEMES)} URL")
    return url


def checked_url(url: str, schemes: tuple[str, ...]) -> SplitResult | None:
    """Return the parts of a usable URL; None for any other."""
    if any(character <= " " or character == "\x7f" for character in url):
        return None
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        if ":" not in host:
            host.rstrip(".").encode("idna")
    except ValueError:
        return None
    return parts if parts.scheme in schemes and host.strip(".") else None


def without_password(url: str) -> str:
    """Return a URL as it may be shown: without the user and password in it."""
    return _CREDENTIALS.sub("", url)


def _id_token(user: User, owner: str) -> str:
    if user.auth_provider is None:
        return ""
    name, config = user.auth_provider.name, user.auth_provider.config or {}
    if name == "oidc" and config.get("id-token"):
        return config["id-token"]
    raise KubeconfigError(f"auth-provider {name!r} {owner} is not supported; use an exec plugin instead")


def _impersonation(user: User, owner: str) -> Impersonation | None:
    if not user.as_user:
        if user.as_groups or user.as_uid or user.as_user_extra:
            raise KubeconfigError(f"as-groups, as-uid or as-user-extra {owner} needs as")
        return None
    return Impersonation(user.as_user, user.as_groups or (), user.as_uid or "", user.as_user_extra or {})


def _exec_plugin(
    user: Defined[User], owner: str, cluster: Defined[KubeconfigCluster], authority: Pem | None, *, has_other: bool
) -> ExecPlugin | None:
    plugin = user.value.exec
    # client-go runs a plugin only if nothing else identifies the user.
    if plugin is None or has_other:
        return None
    if not plugin.command:
        raise KubeconfigError(f"exec {owner} has no command")
    if not plugin.api_version:
        raise KubeconfigError(f"exec {owner} has no apiVersion")
    command = plugin.command
    if os.sep in command:
        command = str(_beside(user.file, command))
    env = {}
    for variable in plugin.env or ():
        if not variable.name:
            raise KubeconfigError(f"exec {owner} has an env entry without a name")
        env[variable.name] = variable.value
    return ExecPlugin(
        command=command,
        args=plugin.args or (),
        env=env,
        api_version=plugin.api_version,
        install_hint=one_line(plugin.install_hint or ""),
        demands_terminal=_demands_terminal(plugin, owner),
        cluster_info=_cluster_info(cluster.value, authority) if plugin.provide_cluster_info else None,
        title=f"exec plugin {plugin.command} {owner}",
    )


def _demands_terminal(plugin: Exec, owner: str) -> bool:
    mode = plugin.interactive_mode
    if mode not in (None, "", "Never", "IfAvailable", "Always"):
        raise KubeconfigError(f"interactiveMode {mode!r} of exec {owner} must be Never, IfAvailable or Always")
    return mode == "Always"


def _cluster_info(cluster: KubeconfigCluster, authority: Pem | None) -> dict[str, object]:
    extension = next((x.extension for x in cluster.extensions or () if x.name == EXEC_CLUSTER_EXTENSION), None)
    info: dict[str, object | None] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority.read()).decode() if authority is not None else None,
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
        "config": extension,
    }
    return {key: value for key, value in info.items() if value}


def _in_cluster(environ: Mapping[str, str], folder: Path, impersonation: Impersonation | None) -> Connection | None:
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    token_file = folder / "token"
    if not host or not port or not token_file.is_file():
        return None
    authority = Pem("the service account's ca.crt", path=folder / "ca.crt")
    authority.read()
    return Connection(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        context="in-cluster",
        certificate_authority=authority,
        token_file=token_file,
        impersonation=impersonation,
    )
