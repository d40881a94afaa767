"""Time and memory of a forecast.

    python benchmarks/forward.py [--hours N] [--commands N] [--instant] [--profile] [demo | NODES-PODS ...]

``demo`` is the start of the built-in demo, NODES-PODS are many copies of it (`many_demos.py`). Each forecast is six
hours long and starts at the same time of the same day. Seconds are processor time, so that other programs do not count;
reading and preparing the cluster is not included.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import sys
import time
from pathlib import Path
from typing import Any

from reference import note, print_reference

sys.path.insert(0, str(Path(__file__).parent))

from many_demos import ManyDemos

from karptui.aws.evidence import Evidence
from karptui.forward.result import Played, StepKind
from karptui.forward.run import forward
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.session.pool_types import offered_types
from karptui.state.cluster import FIELDS

DEFAULT = ("demo", "500-10000")
HOUR_NS = 3600 * 10**9
NOW_NS = 1_795_400_000 * 10**9
"""A Monday, 02:13 UTC. It is fixed because budget windows make forecasts depend on the time of day."""


def inventory(name: str) -> Inventory:
    """Return the cluster of an argument."""
    nodes, _, pods = ("60", "", "900") if name == "demo" else name.partition("-")
    items = ManyDemos(int(nodes), int(pods), pending=6, now_ns=NOW_NS).items
    fields: dict[str, Any] = {field: tuple(items[kind].values()) for kind, field in FIELDS.items()}
    return Inventory(**fields)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("clusters", nargs="*", default=DEFAULT)
    parser.add_argument("--hours", type=float, default=6.0)
    parser.add_argument("--commands", type=int)
    parser.add_argument("--instant", action="store_true")
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    for name in args.clusters:
        found = inventory(name)
        settings = Settings()
        types = offered_types(found, settings, Evidence(settings=settings)).types
        profile = cProfile.Profile()
        began = time.process_time()
        if args.profile:
            profile.enable()
        played = forward(
            found,
            types,
            settings,
            NOW_NS,
            horizon_ns=int(args.hours * HOUR_NS),
            is_instant=args.instant,
            most_commands=args.commands,
        )
        profile.disable()
        note(name, time.process_time() - began)
        print(line(name, played, time.process_time() - began))
        if args.profile:
            pstats.Stats(profile).sort_stats("cumtime").print_stats(40)
    print_reference()


def line(name: str, played: Played, seconds: float) -> str:
    """Return a row of results."""
    commands = sum(1 for step in played.steps if step.kind is StepKind.DISRUPT)
    first, last = played.series[0], played.end
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return (
        f"{name:>12}  {seconds:7.2f} s  {commands:4} commands  {seconds / max(commands, 1) * 1000:6.0f} ms each"
        f"  {first.nodes} -> {last.nodes} nodes  ${first.price_per_hour:.2f} -> ${last.price_per_hour:.2f}/h"
        f"  peak {memory} MB"
    )


if __name__ == "__main__":
    main()
