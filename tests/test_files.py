"""Files that karptui writes: whole, or not there; and nothing but a regular file is replaced."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from karptui.files import write_file


def test_written_whole_and_for_whom_it_is(tmp_path: Path) -> None:
    write_file(tmp_path / "a", b"1")
    write_file(tmp_path / "b", b"2", is_private=True)
    assert ((tmp_path / "a").read_bytes(), (tmp_path / "b").stat().st_mode & 0o777) == (b"1", 0o600)
    mask = os.umask(0o022)
    os.umask(mask)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o666 & ~mask
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_what_is_there_is_replaced_only_if_asked(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "a", b"1")
    assert (tmp_path / "a").read_text() == "mine"
    (tmp_path / "link").symlink_to("a")
    write_file(tmp_path / "link", b"2", may_replace=True)
    assert ((tmp_path / "a").read_text(), (tmp_path / "link").is_symlink()) == ("2", True)


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link", "link to a pipe"])
def test_nothing_but_a_regular_file_is_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "dangling link":
        path.symlink_to(tmp_path / "none")
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to("pipe")
    before = path.lstat().st_ino
    with pytest.raises(OSError, match=r"no regular file|No such file"):
        write_file(path, b"1", may_replace=True)
    assert path.lstat().st_ino == before
    assert not list(tmp_path.glob(".karptui*"))


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
from karptui.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_disk_that_is_full_leaves_nothing_behind(tmp_path: Path) -> None:
    words = [sys.executable, "-c", FULL, "record", str(tmp_path / "x.json"), "--demo"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert f"x.json: cannot be written: {os.strerror(errno.EFBIG)}" in ended.stderr
    assert list(tmp_path.iterdir()) == []
