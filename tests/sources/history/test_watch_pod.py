"""A history that is sent while another process writes it."""

from __future__ import annotations

import io
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.history.store import History, Mark
from karptui.sources.history.watch_pod import send_history
from karptui.sources.history.writer import HistoryWriter
from tests.histories import BEGIN_NS, record_demo


class _BusyOutput(io.BytesIO):
    """Takes a history; before each part of it the history's writer adds marks and empties its log into the file."""

    def __init__(self, path: Path, writer: HistoryWriter) -> None:
        super().__init__()
        self._path, self._writer, self._count = path, writer, 0

    def write(self, data: object) -> int:
        for _ in range(20):
            self._count += 1
            self._writer.write_marks([a_mark(self._count)])
        with closing(sqlite3.connect(self._path, timeout=0)) as database:
            database.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return super().write(data)  # type: ignore[arg-type]


def a_mark(second: int) -> Mark:
    return Mark(at_ns=BEGIN_NS + second * NS_PER_SECOND, cause="edit", text="x" * 2_000)


def test_a_copy_is_whole_while_the_history_is_written(tmp_path: Path) -> None:
    path = tmp_path / "demo.karptui"
    record_demo(path, 5)
    with closing(HistoryWriter(path, "")) as writer:
        writer.write_marks([a_mark(0)])
        output = _BusyOutput(path, writer)
        send_history(path, output)
    folder = tmp_path / "copy"
    folder.mkdir()
    with tarfile.open(fileobj=io.BytesIO(output.getvalue())) as archive:
        archive.extractall(folder, filter="data")
    with closing(sqlite3.connect(folder / path.name)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with closing(History(folder / path.name)) as copied:
        marks = copied.marks(0, BEGIN_NS * 2)
    assert marks[0] == a_mark(0)
    assert list(marks) == [a_mark(second) for second in range(len(marks))]
