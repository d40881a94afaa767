"""Credentials of users: plugins, tokens, files and certificates."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.sources.cluster.connection import Connection, ExecPlugin, Grant, Pem
from karptui.sources.cluster.credentials import (
    FileCredentials,
    credentials_for,
)
from karptui.sources.cluster.errors import CredentialError
from karptui.sources.cluster.exec_plugin import ExecCredentials, _end, without_secrets
from tests.builders.files import written

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
NOW_NS = 1_800_000_000 * NS_PER_SECOND

COUNTING = """
import json, os, sys
path, version, more = sys.argv[1:]
runs = len(open(path).read()) + 1 if os.path.exists(path) else 1
open(path, "a").write("x")
status = {"token": f"t{runs}", **json.loads(more)}
print(json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status}))
"""


def plugin(
    code: str, *args: str, api_version: str = V1, env: Mapping[str, str] | None = None, **fields: Any
) -> ExecPlugin:
    defaults = {"install_hint": "", "demands_terminal": False, "cluster_info": None, "title": "exec plugin fake"}
    return ExecPlugin(
        command=sys.executable,
        args=("-S", "-c", code, *args),
        env=env or {},
        api_version=api_version,
        **{**defaults, **fields},
    )


def running(command: str) -> ExecPlugin:
    return ExecPlugin(command, (), {}, V1, "Get it from example.com.", False, None, "exec plugin fake")


def printing(status: Any, *, api_version: str = V1, **top: Any) -> ExecPlugin:
    printed = {"kind": "ExecCredential", "apiVersion": api_version, "status": status, **top}
    return plugin(f"print({json.dumps(printed)!r})", api_version=api_version)


class Time:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> int:
        return NOW_NS + int(self.seconds * NS_PER_SECOND)


def counting(folder: Path, status: dict[str, Any] | None = None, **options: Any) -> tuple[ExecCredentials, Path]:
    """Return a plugin that prints t1, t2, …, and a file that grows with each run."""
    path = folder / "runs"
    return ExecCredentials(plugin(COUNTING, str(path), V1, json.dumps(status or {})), **options), path


@pytest.mark.parametrize(("life_seconds", "renewed_after"), [(3600, 3540), (100, 80), (10, 8)])
def test_renewed_shortly_before_expiry(tmp_path: Path, life_seconds: int, renewed_after: float) -> None:
    now = Time()
    expiry = format_timestamp(NOW_NS + life_seconds * NS_PER_SECOND)
    credential, _ = counting(tmp_path, {"expirationTimestamp": expiry}, now_ns=now)
    assert credential.current().authorization == "Bearer t1"
    now.seconds = renewed_after - 0.01
    assert credential.current().authorization == "Bearer t1"
    now.seconds = renewed_after
    assert credential.current().authorization == "Bearer t2"


def test_expired_on_arrival() -> None:
    status = {"token": "t", "expirationTimestamp": format_timestamp(NOW_NS - 1)}
    with pytest.raises(
        CredentialError, match=r"printed a credential that expired at 2027-.*; check the clock of this machine"
    ):
        ExecCredentials(printing(status), now_ns=Time()).current()


def test_brand_new_credential_is_not_replaced(tmp_path: Path) -> None:
    credential, runs = counting(tmp_path, now_ns=Time())
    first = credential.current()
    assert not credential.refused(first)
    assert credential.current() is first
    assert runs.read_text() == "x"


def test_threads_share_one_run(tmp_path: Path) -> None:
    credential, runs = counting(tmp_path)
    start = threading.Barrier(8)
    tokens: list[str] = []

    def ask() -> None:
        start.wait()
        tokens.append(credential.current().authorization)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tokens == ["Bearer t1"] * 8
    assert runs.read_text() == "x"


def test_failure_is_shared_for_some_seconds(tmp_path: Path) -> None:
    now = Time()
    runs = tmp_path / "runs"
    credential = ExecCredentials(
        plugin("import sys; open(sys.argv[1], 'a').write('x'); sys.exit(3)", str(runs)), now_ns=now
    )
    for _ in range(3):
        with pytest.raises(CredentialError, match="failed with exit status 3: and said nothing"):
            credential.current()
    assert runs.read_text() == "x"
    now.seconds = 5
    with pytest.raises(CredentialError):
        credential.current()
    assert runs.read_text() == "xx"


@pytest.mark.parametrize("cluster", [None, {"server": "https://x", "config": {"a": 1}}], ids=["not asked", "asked"])
def test_plugin_gets_its_environment_and_the_cluster_if_it_asks(cluster: dict[str, Any] | None) -> None:
    code = """
import json, os, sys
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
token = json.dumps([info, os.environ["PROFILE"], os.environ["KEPT"]])
print(json.dumps({"kind": "ExecCredential", "apiVersion": info["apiVersion"], "status": {"token": token}}))
"""
    credential = ExecCredentials(
        plugin(code, env={"PROFILE": "prod"}, cluster_info=cluster),
        environ={"PATH": os.environ["PATH"], "KEPT": "yes", "PROFILE": "other"},
    )
    info, profile, kept = json.loads(credential.current().authorization.removeprefix("Bearer "))
    spec = {"interactive": False, **({"cluster": cluster} if cluster else {})}
    assert info == {"apiVersion": V1, "kind": "ExecCredential", "spec": spec}
    assert (profile, kept) == ("prod", "yes")


@pytest.mark.parametrize(("bad", "sentence"), [
    (plugin("pass", api_version="client.authentication.k8s.io/v1alpha1"), "apiVersion '.*/v1alpha1' is not supported"),
    (plugin("pass", demands_terminal=True), "demands a terminal .*log in outside karptui first"),
    (plugin("import sys; sys.exit('\\x1b[31mlogin\\nfirst')"), r"failed with exit status 1: \[31mlogin first$"),
    (plugin("pass"), "did not print an ExecCredential with a status"),
    (plugin("print('[' * 100_000)"), "did not print an ExecCredential with a status"),
    (printing(None), "did not print an ExecCredential with a status"),
    (printing({"token": "t", "expirationTimestamp": "tomorrow"}), "did not print an ExecCredential with a status"),
    (printing({"token": "t"}, kind="Other"), "printed client.authentication.k8s.io/v1 Other instead of"),
    (printing({"token": "t"}, apiVersion=V1BETA1),
     "printed client.authentication.k8s.io/v1beta1 ExecCredential instead of"),
    (printing({"token": 7}), "printed a token, certificate or key that is not a string"),
    (printing({"clientCertificateData": "C"}), "printed only one of clientCertificateData and clientKeyData"),
    (printing({}), "printed neither a token nor a client certificate"),
    (running("no-such-command"), r"command not found\. Get it from example\.com\.$"),
    (running(__file__), "cannot be run: .*Permission denied"),
])  # fmt: skip
def test_plugin_failures_are_explained(bad: ExecPlugin, sentence: str) -> None:
    with pytest.raises(CredentialError, match=f"^exec plugin fake:? .*{sentence}|^exec plugin fake:? {sentence}"):
        ExecCredentials(bad).current()


@pytest.mark.parametrize(("text", "shown"), [
    ("token: k8s-aws-v1.aHR0cHM6Ly9zdHMuYW1h", "token: …"),
    ('{"access_token":"abc123def", "x": 1}', '{"access_token":"…", "x": 1}'),
    ("Authorization: Bearer abcdefgh", "Authorization: Bearer …"),
    ("get https://me:hunter2@idp.test/x failed", "get https://idp.test/x failed"),
    ("got eyJhbGciOiJSUzI1NiIsImtpZCI6IjEyMzQ1Njc4OTAifQ.eyJzdWIiOiIxIn0.c2ln", "got …"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG is wrong", "AWS_SECRET_ACCESS_KEY=… is wrong"),
    ("The SSO session associated with this profile has expired, run aws sso login --profile prod-1",
     "The SSO session associated with this profile has expired, run aws sso login --profile prod-1"),
    ("no file /home/me/.aws/sso/cache/x1.json", "no file /home/me/.aws/sso/cache/x1.json"),
])  # fmt: skip
def test_output_of_a_plugin_is_shown_without_secrets(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


SLEEPER = "import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])"


def test_time_limit_kills_the_plugin_and_its_children() -> None:
    began = time.monotonic()
    with pytest.raises(CredentialError, match=r"did not finish within 0\.2 s"):
        ExecCredentials(plugin(SLEEPER), timeout_seconds=0.2).current()
    assert time.monotonic() - began < 20


def test_close_ends_a_running_plugin(tmp_path: Path) -> None:
    fifo = tmp_path / "started"
    os.mkfifo(fifo)
    credential = ExecCredentials(plugin(f"open({str(fifo)!r}, 'w').close(); {SLEEPER}"))
    failures: list[str] = []

    def ask() -> None:
        try:
            credential.current()
        except CredentialError as error:
            failures.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    fifo.read_text()
    credential.close()
    thread.join(20)
    assert not thread.is_alive()
    assert failures == ["exec plugin fake failed with exit status -9: and said nothing"]


def test_killing_an_ended_plugin_does_nothing() -> None:
    ended = subprocess.Popen([sys.executable, "-S", "-c", "pass"], start_new_session=True)
    ended.wait()
    _end(ended)


def test_close_before_the_run(tmp_path: Path) -> None:
    credential = ExecCredentials(plugin(SLEEPER))
    credential.close()
    with pytest.raises(CredentialError, match="exit status -9"):
        credential.current()


NOSY = """
import json, os, sys
print("Opening your browser to log in...", file=sys.stderr)
found = {"stdin": os.isatty(0), "stdin_bytes": len(sys.stdin.read()), "stderr": os.isatty(2), "stdout": os.isatty(1)}
try:
    with open("/dev/tty", "w") as terminal:
        terminal.write("PASSWORD: ")
    found["tty"] = True
except OSError:
    found["tty"] = False
status = {"token": json.dumps(found)}
print(json.dumps({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status}))
"""

ON_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.path[:0] = {path!r}
from karptui.sources.cluster.connection import ExecPlugin
from karptui.sources.cluster.exec_plugin import ExecCredentials, _end, without_secrets
assert os.isatty(0) and os.isatty(2)
open("/dev/tty", "w").close()
version = "client.authentication.k8s.io/v1"
plugin = ExecPlugin({python!r}, ("-S", "-c", {code!r}), {{}}, version, "", False, None, "nosy")
open({answer!r}, "w").write(ExecCredentials(plugin).current().authorization.removeprefix("Bearer "))
"""


def test_the_terminal_is_never_touched(tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    code = ON_A_TERMINAL.format(path=sys.path, python=sys.executable, code=NOSY, answer=str(answer))
    terminal, inner = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=inner, stdout=inner, stderr=inner, start_new_session=True
    )
    os.close(inner)
    os.write(terminal, b"typed by the user\n")
    seen = b""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(terminal)
    assert child.wait(20) == 0, seen
    assert json.loads(answer.read_text()) == {
        "stdin": False,
        "stdin_bytes": 0,
        "stderr": False,
        "stdout": False,
        "tty": False,
    }
    # The terminal itself echoes the typed text.
    assert seen.replace(b"\r\n", b"\n") in (b"typed by the user\n", b"")


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


def test_refused_token_shows_the_known_remedy() -> None:
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


def test_last_token_is_kept_if_the_token_file_is_deleted(tmp_path: Path) -> None:
    path = written(tmp_path / "token", "one")
    credentials = FileCredentials(path)
    first = credentials.current()
    path.unlink()
    assert not credentials.refused(first)
    assert credentials.current() is first


@pytest.mark.parametrize(("content", "sentence"), [(None, "cannot read the token file .*absent"), (" \n", "is empty")])
def test_empty_token_file_is_an_error(tmp_path: Path, content: str | None, sentence: str) -> None:
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
    return ExecCredentials(plugin(code, str(runs), V1), now_ns=lambda: now[0])


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
