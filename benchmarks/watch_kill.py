"""Kill `karptui watch --demo` at random moments; its history must open and lose at most the last second."""

from __future__ import annotations

import argparse
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from karptui.sources.history.store import History
from karptui.sources.snapshot.reader import SnapshotReader


def newest_ns(path: Path) -> int:
    history = History(path)
    try:
        return max((session.to_ns for session in history.sessions()), default=0)
    finally:
        history.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--longest", type=float, default=3.0, help="seconds until the kill, after the first line")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    chance, sessions, lost = random.Random(args.seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path, last_ns = Path(folder) / "demo.karptui", 0
        for number in range(args.kills):
            process = subprocess.Popen(
                [sys.executable, "-m", "karptui", "watch", "--demo", "--history", str(path)], stdout=subprocess.PIPE
            )
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0, args.longest))
            before_ns = newest_ns(path)
            process.kill()
            process.wait()
            process.stdout.close()
            after_ns = newest_ns(path)
            lost += after_ns < before_ns or before_ns < last_ns
            sessions += after_ns > last_ns
            last_ns = after_ns
            if last_ns:
                SnapshotReader().read([path])
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
                if database.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                    sys.exit(f"kill {number}: the file is damaged")
        print(f"{args.kills} kills: it opened every time; {sessions} sessions; lost more than the last second: {lost}")
        print(f"size: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
