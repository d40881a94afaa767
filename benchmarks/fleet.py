"""The Fleet screen with many clusters: delay of a key, and memory and processor time of all processes.

    python benchmarks/fleet.py [--clusters N] [--nodes N] [--pods N] [--keys N] [--settle SECONDS] [--quiet]

All contexts use one server, `churning_api_server.py`, but each has its own process, as if it were a separate cluster.
The app runs in its own terminal (a pty, as in `whatif_keys.py`). Letters are typed into the command line as soon as all
clusters are current. Memory is Pss, which counts shared pages once. Times are elapsed time, so the load is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from forward_keys import shares, typed
from reference import note, print_reference
from whatif_keys import Terminal


def kubeconfig(folder: Path, url: str, clusters: int) -> Path:
    names = [f"cluster-{number:02}" for number in range(clusters)]
    document = {
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in names],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(document))
    return path


def members() -> dict[int, int]:
    """Return the process of each cluster, with its parent."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"fleet-member" in words:
                found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def seconds(pid: int) -> float:
    """Return processor seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=1_500)
    parser.add_argument("--keys", type=int, default=96)
    parser.add_argument("--settle", type=float, default=120.0, help="seconds after every cluster is current")
    parser.add_argument("--quiet", action="store_true", help="nothing changes in the clusters")
    options = parser.parse_args()
    server = [sys.executable, str(Path(__file__).with_name("churning_api_server.py"))]
    server += [str(options.pods), str(options.nodes), *(["--quiet"] if options.quiet else [])]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as serving,
    ):
        assert serving.stdout is not None
        config = kubeconfig(Path(folder), serving.stdout.readline().strip(), options.clusters)
        words = ["--contexts", "all", "--kubeconfig", str(config), "--no-aws"]
        began = time.monotonic()
        terminal = Terminal([sys.executable, "-m", "karptui", *words], 120, 40)
        terminal.wait_for(rf"{options.clusters} of {options.clusters} current", 600)
        print(f"every cluster is current after {time.monotonic() - began:.0f} s", flush=True)
        terminal.drain(options.settle)
        pids = members()
        parents = set(pids.values())
        before, from_s = {pid: seconds(pid) for pid in (*pids, *parents)}, time.monotonic()
        taken, _, _ = typed(terminal, options.keys)
        passed = time.monotonic() - from_s
        used = {pid: (seconds(pid) - before[pid]) / passed for pid in before}
        sizes = {pid: megabytes(pid) for pid in before}
        terminal.close()
        time.sleep(2)
        left = len(members().keys() & pids.keys())
        serving.kill()
    print(f"key to repaint {shares(taken)}   n={options.keys}")
    note("median key to repaint, fleet", sorted(taken)[len(taken) // 2])
    largest = max(sizes[pid] for pid in pids)
    print(f"memory in all {sum(sizes.values()):,.0f} MB: {len(pids)} clusters, the largest {largest:.0f} MB")
    print(f"the app {sum(sizes[pid] for pid in parents):.0f} MB")
    print(f"processors used: clusters {sum(used[pid] for pid in pids):.2f}, app {sum(used[p] for p in parents):.2f}")
    print(f"processes left behind: {left}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print_reference()


if __name__ == "__main__":
    main()
