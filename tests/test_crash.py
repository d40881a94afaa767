from __future__ import annotations

import stat
from pathlib import Path

import pytest

from karptui import crash

pytestmark = pytest.mark.crashes


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crash, "state_dir", lambda: tmp_path)
    monkeypatch.setattr(crash, "_reports", {})


def broken(secret: str) -> None:
    header = f"Bearer {secret}"
    raise ValueError(f"cannot send Authorization: {header}")


def report(secret: str = "abc.def", during: str = "showing Nodes") -> Path | None:
    try:
        broken(secret)
    except ValueError as error:
        return crash.record(error, during)
    return None


def test_a_report_says_where_and_what_and_nothing_that_is_secret() -> None:
    path = report()
    assert path is not None
    text = path.read_text()
    assert "while showing Nodes" in text
    assert "ValueError: cannot send" in text
    assert "test_crash.py:" in text
    assert "in broken" in text
    for secret in ("abc.def", "header", str(Path.home())):
        assert secret not in text


def test_a_report_is_for_its_owner_alone() -> None:
    path = report()
    assert path is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_same_fault_is_written_once_and_reports_do_not_pile_up() -> None:
    paths = {report() for _ in range(50)}
    assert len(paths) == 1
    for number in range(30):
        report(during=f"round {number}")
    (path,) = paths
    assert path is not None
    assert len(list(path.parent.iterdir())) == crash.KEPT


@pytest.mark.parametrize(
    "words",
    [
        "Bearer eyJhbGciOi.J9.x",
        "authorization: Basic dXNlcjpwYXNz",
        "{'token': 'hunter2'}",
        "password=hunter2",
        "https://me:hunter2@proxy:3128/",
        "k8s-aws-v1.aHR0cHM6Ly9",
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----",
        "x" * 64,
    ],
)
def test_words_are_harmless(words: str) -> None:
    harmless = crash.harmless(f"it said {words} and more")
    assert "[removed]" in harmless
    for secret in ("eyJ", "dXNlcjpwYXNz", "hunter2", "aHR0cHM6Ly9", "AKIA", "xxxx"):
        assert secret not in harmless


def test_words_stay_on_a_short_line() -> None:
    assert crash.harmless("a\nb\x1b[31m") == "a b [31m"
    assert len(crash.harmless("word " * 10_000)) <= crash.WORDS


def test_a_folder_that_cannot_be_written_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Path:
        raise PermissionError

    monkeypatch.setattr(crash, "state_dir", refuse)
    assert report() is None


def test_a_deep_recursion_is_a_short_report() -> None:
    def deeper() -> None:
        deeper()

    try:
        deeper()
    except RecursionError as error:
        path = crash.record(error, "counting")
    assert path is not None
    assert len(path.read_text().splitlines()) < 100
