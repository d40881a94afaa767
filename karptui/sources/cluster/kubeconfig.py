"""Kubeconfig files, found and merged as kubectl does.

Source of the rules: client-go's ``tools/clientcmd`` (loader.go, client_config.go) and the Kubernetes document
"Organizing Cluster Access Using kubeconfig Files".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from karptui.decode.errors import field_error
from karptui.files import read_file
from karptui.kube.yaml_reader import YamlError, load_documents
from karptui.sources.cluster.errors import KubeconfigError, one_line

ENV_FILES: Final = "KUBECONFIG"
_LINE: Final = re.compile(r"(line \d+), column \d+: (.*)", re.DOTALL)
MOST_BYTES: Final = 16 << 20
"""Of one file: a thousand clusters with their certificates take half of it."""


class NamedExtension(msgspec.Struct, frozen=True):
    """An entry of ``extensions``."""

    name: str = ""
    extension: Any = None


class KubeconfigCluster(msgspec.Struct, frozen=True, rename="kebab"):
    """``clusters[].cluster``."""

    server: str | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None
    disable_compression: bool | None = None
    extensions: tuple[NamedExtension, ...] | None = None


class ExecEnv(msgspec.Struct, frozen=True):
    """One environment variable of an exec plugin."""

    name: str = ""
    value: str = ""


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    """``users[].user.exec``: a command that prints a credential."""

    command: str | None = None
    api_version: str | None = None
    args: tuple[str, ...] | None = None
    env: tuple[ExecEnv, ...] | None = None
    install_hint: str | None = None
    provide_cluster_info: bool | None = None
    interactive_mode: str | None = None


class AuthProvider(msgspec.Struct, frozen=True):
    """``users[].user.auth-provider``."""

    name: str = ""
    config: dict[str, str] | None = None


class User(msgspec.Struct, frozen=True, rename="kebab"):
    """``users[].user``."""

    token: str | None = None
    token_file: str | None = msgspec.field(name="tokenFile", default=None)
    username: str | None = None
    password: str | None = None
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    as_user: str | None = msgspec.field(name="as", default=None)
    as_uid: str | None = None
    as_groups: tuple[str, ...] | None = None
    as_user_extra: dict[str, tuple[str, ...]] | None = None
    exec: Exec | None = None
    auth_provider: AuthProvider | None = None


class Context(msgspec.Struct, frozen=True):
    """``contexts[].context``."""

    cluster: str | None = None
    user: str | None = None
    namespace: str | None = None


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: KubeconfigCluster | None = None


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: User | None = None


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: Context | None = None


class _File(msgspec.Struct, frozen=True):
    current_context: str | None = msgspec.field(name="current-context", default=None)
    clusters: tuple[_NamedCluster, ...] | None = None
    users: tuple[_NamedUser, ...] | None = None
    contexts: tuple[_NamedContext, ...] | None = None


Entry = TypeVar("Entry")


class Defined(msgspec.Struct, Generic[Entry], frozen=True):
    """A definition and its file, the base of relative paths and part of errors."""

    value: Entry
    file: Path


class Kubeconfig(msgspec.Struct, frozen=True):
    """One or more kubeconfig files, merged: the first definition of a name wins, and the first current-context."""

    current_context: str
    """Empty if no file sets it."""
    clusters: Mapping[str, Defined[KubeconfigCluster]]
    users: Mapping[str, Defined[User]]
    contexts: Mapping[str, Defined[Context]]
    files: tuple[Path, ...]
    """The files that were read, in order of precedence."""
    looked_for: tuple[Path, ...]

    @property
    def title(self) -> str:
        """The files, for messages."""
        return ":".join(map(str, self.files or self.looked_for))


def load_kubeconfig(
    explicit: str | None = None, *, environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> Kubeconfig:
    """Read and merge the kubeconfig files as kubectl does.

    Args:
        explicit: ``--kubeconfig``; then only that file is read, and must exist.
        environ: Contains ``KUBECONFIG``: paths joined by colons; missing files are skipped.

    Raises:
        KubeconfigError: if a file is unreadable or a field has the wrong shape.
    """
    paths = _paths(explicit, environ, Path.home() if home is None else home)
    files = [
        (path, contents) for path in paths if (contents := _read(path, must_exist=explicit is not None)) is not None
    ]
    return Kubeconfig(
        current_context=next((file.current_context for _, file in files if file.current_context), ""),
        clusters=_merge(
            (path, "clusters", [(x.name, x.cluster or KubeconfigCluster()) for x in file.clusters or ()])
            for path, file in files
        ),
        users=_merge((path, "users", [(x.name, x.user or User()) for x in file.users or ()]) for path, file in files),
        contexts=_merge(
            (path, "contexts", [(x.name, x.context or Context()) for x in file.contexts or ()]) for path, file in files
        ),
        files=tuple(path for path, _ in files),
        looked_for=paths,
    )


def _paths(explicit: str | None, environ: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    if explicit is not None:
        return (_expanded(explicit, home),)
    if listed := environ.get(ENV_FILES):
        return tuple(dict.fromkeys(_expanded(part, home) for part in listed.split(os.pathsep) if part))
    return (home / ".kube" / "config",)


def _expanded(path: str, home: Path) -> Path:
    return home / path[2:] if path.startswith("~/") else Path(path)


def _read(path: Path, *, must_exist: bool) -> _File | None:
    try:
        data = read_file(path, MOST_BYTES)
    except FileNotFoundError:
        if must_exist:
            raise KubeconfigError(f"{path}: no such kubeconfig file") from None
        return None
    except OSError as error:
        raise KubeconfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    return _parse(path, data)


def _parse(path: Path, data: bytes) -> _File:
    try:
        documents = load_documents(data)
    except YamlError as error:
        line = _LINE.match(str(error))
        where, what = (f" {line[1]}:", line[2]) if line is not None else ("", str(error))
        raise KubeconfigError(f"{path}:{where} not a kubeconfig, because it is not YAML: {one_line(what)}") from error
    if len(documents) > 1:
        raise KubeconfigError(f"{path}: not a kubeconfig: it holds {len(documents)} documents")
    if not documents:
        return _File()
    (document,) = documents
    try:
        return msgspec.convert(document, _File)
    except msgspec.ValidationError as error:
        problem = field_error(error, document)
        field = f"{problem.path}: " if problem.path else "not a kubeconfig: "
        raise KubeconfigError(f"{path}: {field}{one_line(problem.problem)}") from error


def _merge(files: Iterable[tuple[Path, str, list[tuple[str, Entry]]]]) -> dict[str, Defined[Entry]]:
    merged: dict[str, Defined[Entry]] = {}
    for path, field, entries in files:
        seen: set[str] = set()
        for name, value in entries:
            if name in seen:
                raise KubeconfigError(f"{path}: {field}: the name {name!r} is given twice")
            seen.add(name)
            merged.setdefault(name, Defined(value, path))
    return merged
