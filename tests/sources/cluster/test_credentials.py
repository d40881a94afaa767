from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from karptui.sources.cluster.connection import Connection, Pem
from karptui.sources.cluster.credentials import (
    ExecCredentials,
    FileCredentials,
    Grant,
    credentials_for,
)
from karptui.sources.cluster.errors import CredentialError
from karptui.sources.cluster.exec_plugin import ExecCredential
from tests.builders.files import written

from .test_exec_credential import V1, plugin, printing


def connection(**fields: Any) -> Connection:
    return Connection(server="https://x", context="c", **fields)


CERTIFICATE, CLIENT_KEY = Pem("c", data=b"C"), Pem("k", data=b"K")


@pytest.mark.parametrize(("fields", "grant"), [
    ({"basic": ("me", "pw")}, Grant("Basic bWU6cHc=")),
    ({"client_certificate": CERTIFICATE, "client_key": CLIENT_KEY}, Grant("", CERTIFICATE, CLIENT_KEY)),
    ({"token_file": Path("/absent"), "token": "inline"}, Grant("Bearer inline")),
    ({}, Grant()),
], ids=["password", "client certificate", "token if its file is missing", "anonymous"])  # fmt: skip
def test_credentials_of_a_connection(fields: dict[str, Any], grant: Grant) -> None:
    assert credentials_for(connection(**fields)).current() == grant


def test_refused_token_says_what_would_help_where_that_is_known() -> None:
    credentials = credentials_for(connection(token="jwt", when_refused="renew it"))
    with pytest.raises(CredentialError, match="renew it"):
        credentials.refused(credentials.current())
    other = credentials_for(connection(token="t"))
    assert not other.refused(other.current())


def test_token_file_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / "token", "one\n")
    now = [0.0]
    credentials = FileCredentials(path, monotonic=lambda: now[0])
    first = credentials.current()
    assert first.authorization == "Bearer one"
    path.write_text("two")
    now[0] = 59.9
    assert credentials.current() is first
    now[0] = 60.0
    assert credentials.current().authorization == "Bearer two"


def test_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    path = written(tmp_path / "token", "one")
    credentials = FileCredentials(path)
    first = credentials.current()
    path.write_text("two")
    assert credentials.refused(first)
    assert credentials.current().authorization == "Bearer two"
    assert credentials.refused(first)
    credentials.close()


def test_token_file_that_goes_away_leaves_the_last_token(tmp_path: Path) -> None:
    path = written(tmp_path / "token", "one")
    credentials = FileCredentials(path)
    first = credentials.current()
    path.unlink()
    assert not credentials.refused(first)
    assert credentials.current() is first


@pytest.mark.parametrize(("content", "sentence"), [(None, "cannot read the token file .*absent"), (" \n", "is empty")])
def test_token_file_without_a_token(tmp_path: Path, content: str | None, sentence: str) -> None:
    path = tmp_path / "absent"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CredentialError, match=sentence):
        FileCredentials(path).current()


def exec_credentials(runs: Path, now: list[int]) -> ExecCredentials:
    code = (
        "import json, sys; open(sys.argv[1], 'a').write('x'); n = len(open(sys.argv[1]).read()); "
        "print(json.dumps({'kind': 'ExecCredential', 'apiVersion': sys.argv[2], 'status': {'token': f't{n}'}}))"
    )
    return ExecCredentials(ExecCredential(plugin(code, str(runs), V1), now_ns=lambda: now[0]))


def test_exec_plugin_runs_again_for_a_refused_token(tmp_path: Path) -> None:
    now = [10**18]
    credentials = exec_credentials(tmp_path / "runs", now)
    first = credentials.current()
    assert credentials.current() is first
    assert first.authorization == "Bearer t1"
    now[0] += 10 * 10**9
    assert credentials.refused(first)
    assert credentials.current().authorization == "Bearer t2"
    assert credentials.refused(first)
    assert credentials.current().authorization == "Bearer t2"
    credentials.close()


def test_exec_plugin_with_a_certificate_only() -> None:
    printed = printing({"clientCertificateData": "C", "clientKeyData": "K"})
    grant = credentials_for(connection(exec_plugin=printed)).current()
    assert grant.authorization == ""
    assert grant.certificate is not None
    assert grant.certificate.read() == b"C"
    assert grant.key is not None
    assert grant.key.read() == b"K"
