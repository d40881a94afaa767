"""Delay of a key in the what-if pane of a large live cluster while replays run in the background.

    python benchmarks/whatif_keys.py [--nodes N] [--pods N] [--keys N] [--quiet] [--size COLUMNSxROWS] [--profile FILE]

The app runs in its own terminal (a pty) with many copies of the demo cluster (benchmarks/many_demos.py), in which some
pods change every half second (--quiet: none). Keys are pressed as by a fast typist: letters in the YAML editor, steps
of the weight, steps through the result. "Key to repaint" is the time from writing a key to the terminal until its
effect is read from it; for a step through the result, until any repaint. "Loop held" is the delay of a task in the app
that is due every two milliseconds. Both are elapsed time, so a busy machine increases them. "Loop busy" is the
processor time of the drawing thread per key. For comparison, the same is measured on the plain demo.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path

from reference import note, print_reference

ESCAPES = re.compile(rb"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-_])")
PACE_SECONDS = 0.11
LIMIT_SECONDS = 180.0
RIGHT = b"\x1b[C"


class Terminal:
    """The app in a pty, and its output."""

    def __init__(self, command: list[str], columns: int, rows: int) -> None:
        self._main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        # Otherwise the app would restore a scenario of an earlier run.
        self.state = tempfile.mkdtemp()
        environment = {**os.environ, "XDG_STATE_HOME": self.state, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self._process = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=environment)
        os.close(side)

    def wait_for(self, wanted: str, seconds: float = LIMIT_SECONDS) -> float:
        """Read until the output matches a pattern, and return the time of the match."""
        until, seen = time.monotonic() + seconds, b""
        while (left := until - time.monotonic()) > 0:
            if select.select([self._main], [], [], left)[0]:
                seen += os.read(self._main, 1 << 16)
                now = time.monotonic()
                if re.search(wanted, ESCAPES.sub(b"", seen).decode(errors="replace")):
                    return now
        raise SystemExit(f"{wanted!r} never came; last: {ESCAPES.sub(b'', seen)[-2000:].decode(errors='replace')}")

    def drain(self, seconds: float) -> None:
        """Read and discard the output for some time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self._main], [], [], left)[0]:
                os.read(self._main, 1 << 16)

    def press(self, keys: bytes) -> float:
        """Press keys, and return the time."""
        now = time.monotonic()
        os.write(self._main, keys)
        return now

    def close(self) -> None:
        """End the app."""
        self.press(b"\x03")
        until = time.monotonic() + 20
        while self._process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(OSError):
                self.drain(0.1)
        self._process.kill()


def shares(values: list[float]) -> str:
    ordered = sorted(values)
    p50, p95, worst = (ordered[int(share * (len(ordered) - 1))] * 1000 for share in (0.5, 0.95, 1.0))
    return f"p50 {p50:6.1f}  p95 {p95:6.1f}  worst {worst:6.1f} ms"


def play(title: str, arguments: list[str], options: argparse.Namespace) -> None:
    """Press the keys, and print their delays."""
    columns, rows = (int(one) for one in options.size.split("x"))
    report = Path(tempfile.mkdtemp()) / "late.json"
    terminal = Terminal([sys.executable, __file__, "--app", str(report), *arguments], columns, rows)
    marks: list[tuple[str, int, float, float]] = []

    def timed(name: str, times: int, key: Callable[[int], bytes], shown: Callable[[int], str]) -> None:
        taken, began = [], time.monotonic()
        for number in range(times):
            pressed = terminal.press(key(number))
            taken.append(terminal.wait_for(shown(number), 20) - pressed)
            terminal.drain(max(PACE_SECONDS - taken[-1], 0.01))
        marks.append((name, times, began, time.monotonic()))
        note(f"median key, {name}, {title}", statistics.median(taken))
        print(f"{title:<24} {name:<28} key to repaint {shares(taken)}   n={times}", flush=True)

    terminal.wait_for("Nodes")
    terminal.drain(4.0)
    terminal.press(b":whatif NodePool general\r")
    terminal.wait_for(r"pending now · (cluster changed · )?[0-9.]+ m?s")
    terminal.drain(4.0)
    terminal.press(b"e")
    terminal.drain(0.3)
    terminal.press(b"\x1b[F # ")
    terminal.drain(0.5)
    word = "the quick brown fox jumps over a lazy dog and counts nodes again "
    timed("letters into the editor", options.keys, lambda at: word[at % len(word)].encode(), _echo(word))
    terminal.press(b"\x1b")
    terminal.drain(2.0)
    timed("steps of the weight", options.keys // 2, lambda _: RIGHT, lambda at: str(51 + at))
    terminal.press(b"r")
    terminal.drain(1.0)
    timed("steps through the result", options.keys, lambda at: b"jk"[at // 8 % 2 :][:1], lambda _: "")
    terminal.close()
    late = json.loads(report.read_text(encoding="utf-8"))
    for name, times, began, ended in marks:
        within = [one for one in late if began <= one[0] <= ended]
        busy = (within[-1][2] - within[0][2]) / times * 1000
        held = shares([one[1] for one in within])
        print(f"{title:<24} {name:<28} loop held      {held}   loop busy {busy:.1f} ms a key", flush=True)


def _echo(word: str) -> Callable[[int], str]:
    """Return a function: the number of a letter to a pattern of the last six letters in the editor."""

    def shown(at: int) -> str:
        typed = "".join(word[number % len(word)] for number in range(at + 1))
        return re.escape(typed[-6:].strip())

    return shown


# In the terminal


def run_app(options: argparse.Namespace) -> None:
    """Run the app, and record the delay of its loop."""
    from many_demos import ManyDemos

    from karptui.app import KarptuiApp
    from karptui.session.throttle import keep_pauses_short
    from karptui.sources.demo.source import DemoSource

    late: list[tuple[float, float, float]] = []

    class Watched(KarptuiApp):
        async def on_mount(self) -> None:
            self._watch = asyncio.create_task(self._late())

        async def _late(self) -> None:
            while True:
                began = time.monotonic()
                await asyncio.sleep(0.002)
                ended = time.monotonic()
                late.append((ended, ended - began - 0.002, time.thread_time()))

    source = ManyDemos(options.nodes, options.pods) if options.nodes else DemoSource()
    if options.quiet and isinstance(source, ManyDemos):
        source.stop()
    app = Watched(source)
    keep_pauses_short()
    if options.profile:
        import cProfile

        profile = cProfile.Profile()
        profile.runcall(app.run)
        profile.dump_stats(options.profile)
    else:
        app.run()
    Path(options.app).write_text(json.dumps(late), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--quiet", action="store_true", help="nothing changes in the large cluster")
    parser.add_argument("--profile", default="", help="write a profile of the app's loop on the large cluster")
    parser.add_argument("--app", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.app:
        run_app(options)
        return
    if options.nodes:
        play("demo", ["--nodes", "0"], options)
    large = ["--nodes", str(options.nodes), "--pods", str(options.pods)]
    large += ["--quiet"] * options.quiet + (["--profile", options.profile] if options.profile else [])
    play(f"{options.nodes:,} nodes, {options.pods:,} pods" if options.nodes else "demo", large, options)
    print_reference()


if __name__ == "__main__":
    main()
