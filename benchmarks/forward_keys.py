"""Delay of a key while a forecast of ``:forward`` is computed, compared with an idle app.

    python benchmarks/forward_keys.py [--nodes N] [--pods N] [--keys N] [--size COLUMNSxROWS]

The app runs in its own terminal (a pty, as in `whatif_keys.py`) with many copies of the demo cluster, in which nothing
changes. Letters are typed into the command line as by a fast typist: first with an idle app, then during a forecast of
72 hours. "Key to repaint" is the time from writing a key to the terminal until its letter is read from it. "Loop held"
is the delay of a task that is due every two milliseconds, during typing and, in the last row, without typing. Times are
elapsed time, so a busy machine increases all of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from reference import note, print_reference
from whatif_keys import PACE_SECONDS, Terminal

LETTERS = "qxzqzxxqzzqx"
"""Letters that appear in no other repaint of the screen."""
REST_SECONDS = 3.0
PLAYING = r"(are|being) played"
HORIZONS = b"tt"
"""Keys that change the horizon from 6 to 72 hours."""


def shares(values: list[float]) -> str:
    """Return median, 99th percentile and maximum in milliseconds."""
    ordered = sorted(values)
    p50, p99, worst = (ordered[round(share * (len(ordered) - 1))] * 1000 for share in (0.5, 0.99, 1.0))
    return f"p50 {p50:6.1f}  p99 {p99:6.1f}  worst {worst:6.1f} ms"


def typed(terminal: Terminal, keys: int) -> tuple[list[float], float, float]:
    """Type letters into the command line; return the delay of each, and start and end of typing."""
    taken: list[float] = []
    began = time.monotonic()
    for at in range(0, keys, len(LETTERS)):
        terminal.press(b":")
        terminal.drain(0.3)
        for letter in LETTERS[: keys - at]:
            pressed = terminal.press(letter.encode())
            taken.append(terminal.wait_for(letter, 20) - pressed)
            terminal.drain(max(PACE_SECONDS - taken[-1], 0.01))
        terminal.press(b"\x1b")
        terminal.drain(0.3)
    return taken, began, time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--keys", type=int, default=96)
    parser.add_argument("--settle", type=float, default=60.0, help="seconds for everything else to be worked out")
    parser.add_argument("--size", default="120x40", metavar="COLUMNSxROWS")
    options = parser.parse_args()
    columns, rows = (int(one) for one in options.size.split("x"))
    report = Path(tempfile.mkdtemp()) / "late.json"
    app = str(Path(__file__).with_name("whatif_keys.py"))
    large = ["--nodes", str(options.nodes), "--pods", str(options.pods), "--quiet"]
    terminal = Terminal([sys.executable, app, "--app", str(report), *large], columns, rows)
    terminal.wait_for("Nodes")
    terminal.drain(options.settle)
    rest, rest_began, rest_ended = typed(terminal, options.keys)
    terminal.press(b":forward\r")
    terminal.wait_for(PLAYING)
    terminal.press(HORIZONS)
    terminal.drain(REST_SECONDS)
    playing, began, ended = typed(terminal, options.keys)
    terminal.drain(REST_SECONDS)
    terminal.wait_for(PLAYING, 10)
    last = time.monotonic()
    terminal.close()
    late = json.loads(report.read_text(encoding="utf-8"))
    for name, taken, since, until in (
        ("at rest", rest, rest_began, rest_ended),
        ("while it plays", playing, began, ended),
        ("while it plays, no keys", [], ended, last),
    ):
        held = shares([one[1] for one in late if since <= one[0] <= until])
        print(f"{name:<24} key to repaint {shares(taken)}" if taken else f"{name:<24}", f"  loop held {held}")
        if taken:
            note(f"median key to repaint, {name}", statistics.median(taken))
    print_reference()


if __name__ == "__main__":
    main()
