"""Memory of karptui while it is left open: ``python benchmarks/soak.py [demo|live] [--minutes N]``.

The program runs in a pty: the demo on the what-if pane, or, on the first screen, a changing cluster on loopback with
200 nodes and 5,000 pods (benchmarks/churning_api_server.py). Each minute a line shows the resident memory, the
processor time of that minute and the bytes drawn. The last line shows the slope without the first third, in which
everything is read and imported.
Goals: the demo under 160 MB after an hour; the live cluster flat after ten minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

from reference import note, print_reference

HERE = Path(__file__).resolve().parent
MINUTE = 60.0
READY_SECONDS = 30.0
NO_AWS = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
"""Environment without AWS credentials, so that AWS is never called."""


class Terminal:
    """The program in a pty; its output is read and discarded."""

    def __init__(self, arguments: list[str], columns: int, rows: int) -> None:
        self._main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **NO_AWS}
        command = [sys.executable, "-m", "karptui", *arguments]
        self.process = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=environment)
        os.close(side)

    def read(self, seconds: float, until: bytes = b"") -> int:
        """Read for some time, or until the output has ``until``; return the number of bytes."""
        end, count, last = time.monotonic() + seconds, 0, b""
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._main], [], [], left)[0]:
                break
            try:
                last = last[-100:] + os.read(self._main, 1 << 16)
            except OSError:
                sys.exit("karptui has ended")
            count += len(last)
            if until and until in last:
                break
        return count

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._main, keys.encode())

    def close(self) -> None:
        """End the program."""
        self.press("\x03")
        with contextlib.suppress(SystemExit):
            self.read(5.0)
        self.process.kill()
        self.process.wait()

    @property
    def megabytes(self) -> float:
        """The resident memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    @property
    def cpu_seconds(self) -> float:
        """The processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def live_cluster(pods: int, nodes: int, *, is_quiet: bool = False) -> Iterator[list[str]]:
    """Serve a cluster, which does not change if quiet, and yield the arguments that open it."""
    command = [sys.executable, str(HERE / "churning_api_server.py"), str(pods), str(nodes)]
    command += ["--quiet"] * is_quiet
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        kubeconfig = Path(folder) / "kubeconfig"
        kubeconfig.write_text(json.dumps(config_of(server.stdout.readline().strip())), encoding="utf-8")
        try:
            yield ["--kubeconfig", str(kubeconfig)]
        finally:
            server.kill()


def config_of(url: str) -> dict[str, object]:
    """Return a kubeconfig for a server without authentication."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "soak",
        "clusters": [{"name": "soak", "cluster": {"server": url}}],
        "users": [{"name": "soak", "user": {}}],
        "contexts": [{"name": "soak", "context": {"cluster": "soak", "user": "soak"}}],
    }


def follow(title: str, terminal: Terminal, minutes: float) -> None:
    """Print a line a minute, and the slope of the memory."""
    points: list[tuple[float, float]] = []
    began, cpu = time.monotonic(), terminal.cpu_seconds
    for minute in range(1, round(minutes) + 1):
        drawn = terminal.read(max(0.0, began + minute * MINUTE - time.monotonic()))
        used, cpu = terminal.cpu_seconds - cpu, terminal.cpu_seconds
        note("processor time in the last minute", used)
        points.append((float(minute), terminal.megabytes))
        print(
            f"{title:<5} minute {minute:3d}  {points[-1][1]:6.1f} MB  cpu {used:5.1f} s  drawn {drawn:,} bytes",
            flush=True,
        )
    kept = points[len(points) // 3 :]
    most = max(megabytes for _, megabytes in points)
    print(f"{title:<5} {slope(kept):+.2f} MB a minute over the last {len(kept)}; most {most:.1f} MB")
    print_reference()


def slope(points: list[tuple[float, float]]) -> float:
    """Return the slope of the regression line."""
    count = len(points)
    if count < 2:
        return 0.0
    x, y = (sum(values) / count for values in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("demo", "live"), default="demo")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--pods", type=int, default=5_000)
    parser.add_argument("--keys", default=":whatif NodePool general\r", help="pressed at the start of the demo")
    parser.add_argument("--size", default="160x50", metavar="COLUMNSxROWS")
    options = parser.parse_args()
    columns, rows = (int(one) for one in options.size.split("x"))
    with contextlib.ExitStack() as stack:
        is_demo = options.what == "demo"
        arguments = ["--demo"] if is_demo else stack.enter_context(live_cluster(options.pods, options.nodes))
        terminal = Terminal(arguments, columns, rows)
        stack.callback(terminal.close)
        terminal.read(READY_SECONDS, until=b"STATUS")
        terminal.read(5.0)
        if is_demo:
            terminal.press(options.keys)
        follow(options.what, terminal, options.minutes)


if __name__ == "__main__":
    main()
