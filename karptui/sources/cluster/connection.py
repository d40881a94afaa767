"""Everything needed to talk to one API server as one user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from karptui.sources.cluster.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom to act as."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pem:
    """A certificate or a key, in a file or inline, and what to call it when it cannot be used."""

    title: str
    """Such as ``client-certificate of user "dev" in /home/me/.kube/config``."""
    path: Path | None = None
    data: bytes | None = None

    def read(self) -> bytes:
        """Return the PEM text; a file is read anew each time, as certificates get rotated.

        Raises:
            ConfigError: when the file cannot be read.
        """
        if self.data is not None:
            return self.data
        assert self.path is not None
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise ConfigError(f"{self.title}: cannot read {self.path}: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A command that prints a credential, and what it may be told."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One API server and one way to authenticate to it."""

    server: str
    """URL without a trailing slash; may carry a path."""
    context: str
    """The context's name, ``in-cluster`` inside a pod."""
    cluster: str = ""
    user: str = ""
    namespace: str = ""
    certificate_authority: Pem | None = None
    """None trusts what the system trusts."""
    skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    """Empty leaves the choice to HTTPS_PROXY and NO_PROXY."""
    compress: bool = True
    client_certificate: Pem | None = None
    client_key: Pem | None = None
    token: str = ""
    when_refused: str = ""
    """What there is to be done once ``token`` is not taken any more, as a sentence; empty where nobody knows."""
    token_file: Path | None = None
    """Read again and again, as it gets rotated; wins over ``token`` while it can be read."""
    basic: tuple[str, str] | None = None
    exec_plugin: ExecPlugin | None = None
    impersonation: Impersonation | None = None
