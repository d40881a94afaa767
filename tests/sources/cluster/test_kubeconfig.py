from __future__ import annotations

from pathlib import Path

import pytest

from karptui.sources.cluster.errors import KubeconfigError
from karptui.sources.cluster.kubeconfig import MOST_BYTES, load_kubeconfig
from tests.builders.files import written

FIRST = """
current-context: blue
clusters: [{name: c, cluster: {server: https://first}}]
contexts: [{name: blue, context: {cluster: c, user: u, namespace: web}}, {name: green, context: {cluster: c}}]
users: [{name: u, user: {token: one}}]
"""
SECOND = """
current-context: red
clusters: [{name: c, cluster: {server: https://second}}, {name: d, cluster: {server: https://d}}]
contexts: [{name: red, context: {cluster: d, user: u}}]
users: [{name: u, user: {token: two}}]
"""


def write(folder: Path, name: str, text: str) -> Path:
    return written(folder / name, text)


BOMB = b"a: &a [x,x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + at, 98 + at, b",".join([b"*%c" % (97 + at)] * 10)) for at in range(9)
)


def test_first_file_takes_precedence(tmp_path: Path) -> None:
    first, second = write(tmp_path, "a", FIRST), write(tmp_path, "b", SECOND)
    config = load_kubeconfig(environ={"KUBECONFIG": f"{first}::{tmp_path / 'absent'}:{second}:{first}"})
    assert config.current_context == "blue"
    assert config.files == (first, second)
    assert config.clusters["c"].value.server == "https://first"
    assert config.clusters["c"].file == first
    assert config.clusters["d"].file == second
    assert config.users["u"].value.token == "one"
    assert config.title == f"{first}:{second}"


def test_current_context_is_that_of_the_first_file_that_sets_one(tmp_path: Path) -> None:
    first = write(tmp_path, "a", "current-context: ''")
    second = write(tmp_path, "b", SECOND)
    assert load_kubeconfig(environ={"KUBECONFIG": f"{first}:{second}"}).current_context == "red"


def test_default_path_is_in_the_home_directory(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    path = write(tmp_path / ".kube", "config", FIRST)
    assert load_kubeconfig(environ={}, home=tmp_path).files == (path,)
    assert load_kubeconfig("~/.kube/config", environ={}, home=tmp_path).files == (path,)


def test_only_the_explicit_file_is_read(tmp_path: Path) -> None:
    first, second = write(tmp_path, "a", FIRST), write(tmp_path, "b", SECOND)
    assert load_kubeconfig(str(second), environ={"KUBECONFIG": str(first)}).current_context == "red"


@pytest.mark.parametrize(("name", "sentence"), [("absent", "absent: no such kubeconfig file"), ("", "Is a directory")])
def test_explicit_file_must_be_readable(tmp_path: Path, name: str, sentence: str) -> None:
    with pytest.raises(KubeconfigError, match=sentence):
        load_kubeconfig(str(tmp_path / name))


@pytest.mark.parametrize(("data", "sentence"), [
    (b"{", r"config: line \d+: not a kubeconfig, because it is not YAML: "),
    (b"a: \x01", r"config: line 1: not a kubeconfig, because it is not YAML: a control character"),
    (b"- 1", r"config: not a kubeconfig: must be an object, is a list"),
    (b"contexts: [{context: {}}]", r"config: contexts\[0\]\.name: is missing"),
    (b"contexts: [{name: 12}]", r"config: contexts\[0\]\.name: must be text, is a number: write it in quotes"),
    (b"users: [{name: a, user: {tokenFile: []}}]", r"config: users\[0\]\.user\.tokenFile: must be text, is a list"),
    (b"clusters: [{name: a}, {name: a}]", r"config: clusters: the name 'a' is given twice"),
    (b"[" * 200_000, "nested more than 100 levels deep"),
    (b"a: " + b"{a: " * 100_000, "nested more than 100 levels deep"),
    (b"- " * 100_000, "nested more than 100 levels deep"),
    (BOMB, "aliases and << add more than 1,000,000 values"),
    (b"a: 1\n---\nb: 2\n", "it holds 2 documents"),
    (b"#" * (MOST_BYTES + 1), "is larger than 16 MiB"),
])  # fmt: skip
def test_errors_of_invalid_files(tmp_path: Path, data: bytes, sentence: str) -> None:
    (tmp_path / "config").write_bytes(data)
    with pytest.raises(KubeconfigError, match=sentence):
        load_kubeconfig(str(tmp_path / "config"))


def test_empty_file_and_empty_sections(tmp_path: Path) -> None:
    empty = write(tmp_path, "a", "")
    nulls = write(tmp_path, "b", "clusters: null\ncontexts: [{name: x, context: null}]\nusers: []\n")
    config = load_kubeconfig(environ={"KUBECONFIG": f"{empty}:{nulls}"})
    assert list(config.contexts) == ["x"]
    assert config.current_context == ""
