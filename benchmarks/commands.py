"""Time and memory of each headless command: ``python benchmarks/commands.py [--copies N] [--seconds N] [COMMAND ...]``.

Each command runs in its own process on a snapshot of N copies of the demo (16: 1,024 nodes and about 16,000 pods),
without AWS and with compiled modules, like an installed karptui. Rows are sorted by processor time and show processor
time, elapsed time, peak memory and bytes written.
Goals for processor time: one second on the demo, five on 1,000 nodes.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from many_demos import MULTIPLIED, copied
from reference import note, print_reference
from soak import NO_AWS

import karptui
from karptui.cli.parser import COMMANDS
from karptui.kube.timestamps import format_timestamp
from karptui.sources.demo.source import load

NOW_NS: Final = 1_795_400_000 * 10**9
WEIGHT: Final = "NodePool/general:spec.weight=1,50,100"
SCENARIO: Final = {"edits": [{"edit": "set", "object": "NodePool/general", "path": "spec.weight", "value": 1}]}


def written(folder: Path, copies: int) -> dict[str, str]:
    """Write snapshot, scenario and manifest; return the values of the placeholders in ``LINES``."""
    manifests = load(NOW_NS)
    objects = [one for one in manifests if one["kind"] not in MULTIPLIED]
    objects += [copied(one, number) for number in range(copies) for one in manifests if one["kind"] in MULTIPLIED]
    pool = next(one for one in manifests if one["kind"] == "NodePool" and one["metadata"]["name"] == "general")
    files: dict[str, dict[str, Any]] = {
        "SNAPSHOT": {"karptui": 1, "name": "bench", "capturedAt": format_timestamp(NOW_NS), "objects": objects},
        "SCENARIO": SCENARIO,
        "MANIFEST": {**pool, "spec": {**pool["spec"], "weight": 1}},
    }
    names = {}
    for word, content in files.items():
        path = folder / f"{word.lower()}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        names[word] = str(path)
    claim = next(one for one in manifests if one["kind"] == "NodeClaim" and one["status"].get("nodeName"))
    waits = next(one for one in manifests if one["kind"] == "Pod" and "nodeName" not in one["spec"])["metadata"]
    names["RECORDING"] = str(folder / "recording.json")
    return {**names, "NODE": claim["status"]["nodeName"], "POD": f"{waits['namespace']}/{waits['name']}"}


LINES: Final = {
    "explain": ("explain pod POD", "explain node NODE", "explain pool general"),
    "simulate": ("simulate SNAPSHOT", "simulate SNAPSHOT --scenario SCENARIO"),
    "sweep": (f"sweep SNAPSHOT --set {WEIGHT}",),
    "plan": ("plan -f MANIFEST SNAPSHOT",),
    "solve": ("solve pending SNAPSHOT", "solve overhead SNAPSHOT", "solve families --nodepool general SNAPSHOT"),
    "forward": ("forward SNAPSHOT",),
    "packing": ("packing", "packing --scenario SCENARIO"),
    "record": ("record --force RECORDING",),
    "completion": ("completion bash",),
}
"""Command lines of commands that need more than a snapshot."""


def lines_of(command: str) -> list[str]:
    """Return the command lines of a command."""
    given = LINES.get(command, (command,))
    return [line if "SNAPSHOT" in line or command == "completion" else f"{line} --snapshot SNAPSHOT" for line in given]


def run(line: str, names: dict[str, str], compiled: str, seconds: int) -> tuple[float, str]:
    """Run a command; return its processor time and its row.

    Args:
        line: The command line, with placeholders.
        names: Values of the placeholders.
        compiled: Folder for compiled modules, because an installed karptui has them too.
        seconds: Limit of processor time; the command is killed after it.
    """
    words = [names.get(word, word) for word in line.split()]
    if words[0] not in ("record", "completion"):
        words += ["-o", "json"]
    environment = {**os.environ, **NO_AWS, "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "karptui", *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
        )
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds, seconds))
        _, status, usage = os.wait4(process.pid, 0)
        wall, cpu = time.monotonic() - began, usage.ru_utime + usage.ru_stime
        process.returncode = os.waitstatus_to_exitcode(status)
        size = os.fstat(output.fileno()).st_size
        output.seek(0)
        ended = {0: "", 1: "", 3: ""}.get(
            process.returncode, f"  ended with {process.returncode}: {output.read(200)!r}"
        )
    shown = " ".join(word for word in line.split() if word not in ("SNAPSHOT", "--snapshot"))
    return cpu, f"{cpu:7.2f} s  {wall:7.2f} s  {usage.ru_maxrss // 1024:5} MB  {size:>11,} bytes  {shown}{ended}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help="all by default")
    parser.add_argument("--copies", type=int, default=1, help="of the demo's nodes and pods")
    parser.add_argument("--seconds", type=int, default=120, help="of the processor, after which one is broken off")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        names = written(Path(folder), options.copies)
        found = []
        lines = [line for command in options.commands or COMMANDS for line in lines_of(command)]
        sys.pycache_prefix = f"{folder}/compiled"
        compileall.compile_dir(Path(karptui.__file__).parent, quiet=1)
        run("verdict --snapshot SNAPSHOT", names, sys.pycache_prefix, options.seconds)  # warm-up: compiles the modules
        for line in lines:
            found.append(run(line, names, sys.pycache_prefix, options.seconds))
            note(line, found[-1][0])
            print(found[-1][1], file=sys.stderr, flush=True)
    print("processor     clock     memory            wrote  command")
    for _, told in sorted(found, reverse=True):
        print(told)
    print_reference()


if __name__ == "__main__":
    main()
