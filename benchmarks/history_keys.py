"""Delay of a key while a large cluster is followed, with and without recording its history.

    python benchmarks/history_keys.py [--nodes N] [--pods N] [--keys N] [--runs N] [--after SECONDS]

The app runs in its own terminal (a pty, as in `whatif_keys.py`) and lists a changing cluster of
`churning_api_server.py`. Letters are typed into the command line as soon as the first rows appear, or --after SECONDS
later. Runs with and without history alternate. Processor seconds and memory are of the app and of the recording
process. Delays are elapsed time, so a busy machine increases them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from fleet import kubeconfig, megabytes, seconds
from forward_keys import typed
from reference import note, print_reference
from whatif_keys import Terminal

RECORDER = b"history-recorder"


def processes(state: str) -> list[int]:
    """Return the app with this state folder, and the process that records its history."""
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"XDG_STATE_HOME={state}".encode() in (process / "environ").read_bytes().split(b"\0"):
                pids.append(int(process.name))
        except OSError:
            continue
    return sorted(pids, key=lambda pid: RECORDER in Path(f"/proc/{pid}/cmdline").read_bytes())


def run(url: str, keys: int, after_seconds: float, *, has_history: bool) -> list[float]:
    """Type ``after_seconds`` after the first rows; return the delay of each key."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "config.toml"
        config.write_text(f"history = {str(has_history).lower()}\n")
        words = ["--kubeconfig", str(kubeconfig(folder, url, 1)), "--context", "cluster-00"]
        words += ["--config", str(config), "--no-aws"]
        terminal = Terminal([sys.executable, "-m", "karptui", *words], 120, 40)
        terminal.wait_for(r"ip-\d+|NODE")
        terminal.drain(after_seconds)
        taken, _, _ = typed(terminal, keys)
        figures = [f"{seconds(pid):5.1f} s {megabytes(pid):5.0f} MB" for pid in processes(terminal.state)]
        terminal.close()
    title = "with the history" if has_history else "without"
    ordered = sorted(taken)
    p95 = ordered[round(0.95 * (len(ordered) - 1))]
    print(f"{title:<18} p50 {statistics.median(taken) * 1000:6.1f}  p95 {p95 * 1000:6.1f} ms   {'   '.join(figures)}")
    note(f"median key to repaint, {title}", statistics.median(taken))
    return taken


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--keys", type=int, default=96)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--after", type=float, default=0.0, metavar="SECONDS", help="wait after the first rows")
    options = parser.parse_args()
    server = Path(__file__).with_name("churning_api_server.py")
    process = subprocess.Popen(
        [sys.executable, str(server), str(options.pods), str(options.nodes)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().split()[-1]
        for _ in range(options.runs):
            for has_history in (False, True):
                run(url, options.keys, options.after, has_history=has_history)
    finally:
        process.kill()
    print_reference()


if __name__ == "__main__":
    main()
