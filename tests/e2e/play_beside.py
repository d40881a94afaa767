"""Forecast fleets, run the same fleets on real clusters, and compare.

    python -m tests.e2e.play_beside PROGRAMS FOLDER [--seeds 1-10] [--karpenter 1.15.0] [--at-once 2]

PROGRAMS is the folder that ``python -m tests.e2e.servers.build`` prints. For each fleet, FOLDER receives the snapshot
before the forecast, the snapshot at the end, and Karpenter's commands; --again compares existing recordings. A row is
printed for each fleet; of two values, the first is from the forecast and the second from the real cluster.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import urllib3
from msgspec.structs import replace

from karptui.disruption.command import Method
from karptui.forward.durations import observed, simulation_ns
from karptui.forward.play import Play
from karptui.forward.result import Played, StepKind, likeliest
from karptui.forward.run import kept_nodes
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL, ZONE
from karptui.sources.metrics.reading import read_metrics
from tests.goldens_loading import load

from .decisions import not_permitted
from .fleets import fleet_types, make_fleet
from .servers.build import MODELLED
from .whole_cluster import WholeCluster, whole_cluster

HOUR_NS = 3600 * 10**9
QUIET, LONGEST = 85.0, 1500.0
"""Seconds without a change after which a fleet is finished, and time limit for a fleet."""
SIZES = range(25, 51)
"""Full nodes that a fleet needs before it shrinks; it really has up to 1.5 times as many."""
SPREAD = 32
"""Forecasts per fleet; each seed makes other random choices of kube-scheduler and Karpenter."""
FIRST = 5
"""Number of first commands that a forecast must predict in order."""
RECORDED = ("before", "after", "commands")
"""Files of a recording; ``watch`` (every change of the cluster, a line each) is written too."""
PRIORITY = -15
"""Priority of the programs of a cluster: on a busy machine, Karpenter's passes would take seconds."""
Place = tuple[str, str, str, str]
"""NodePool, type, capacity type and zone."""
Told = tuple[str, str, tuple[str, ...]]
Start = Callable[[], AbstractContextManager[WholeCluster]]


class End(NamedTuple):
    """The end of a cluster, and its commands until then."""

    commands: tuple[Told, ...]
    """Reason, decision and nodes of each; a node launched later is given by its NodePool and type."""
    survivors: frozenset[str]
    """Nodes from the start that still exist."""
    equivalence_keys: Mapping[str, str]
    """Equivalence key of each node from the start; Karpenter may pick any node with an equal key."""
    shapes: Counter[tuple[str, str]]
    """NodePool and type of every node."""
    price: float
    kept: Counter[tuple[str, str]]
    """Nodes that cannot be removed, and their blockers."""
    seconds: float


class _RecordedPlay(Play):
    """A forecast that records the NodePool, type and zone of every node, also of removed ones."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self.places: dict[str, Place] = {}
        super().__init__(*given, **options)

    def _note_moment(self) -> None:
        for name, node in self.world.nodes.items():
            if name not in self.places:
                self.places[name] = _place(node.labels)
        super()._note_moment()


def predicted(snapshot: Mapping[str, Any], seed: int, measured: float | None = None) -> tuple[End, Played]:
    """Return the end of a forecast and the forecast.

    Args:
        snapshot: The cluster before.
        seed: Seed of the forecast.
        measured: Seconds that Karpenter needs to simulate a removal, if known.
    """
    prepared = load(snapshot)
    inventory, now_ns = prepared.inventory, prepared.now_ns
    play = _RecordedPlay(
        inventory,
        prepared.given_types,
        prepared.settings,
        now_ns,
        until_ns=now_ns + HOUR_NS,
        durations=replace(
            observed(inventory.nodeclaims), simulation_ns=simulation_ns(measured, seed, len(inventory.nodes))
        ),
        seed=seed,
    )
    played = play.run()
    begun = {node.name for node in inventory.nodes}
    nodes = {name: play.places[name] for name in play.world.nodes}

    def named(name: str) -> str:
        return name if name in begun else "/".join(play.places[name][:2])

    commands = tuple(
        (str(Method(step.method).reason), step.decision, tuple(sorted(map(named, step.nodes))))
        for step in played.steps
        if step.kind is StepKind.DISRUPT
    )
    last_ns = max((step.at_ns for step in played.steps), default=now_ns)
    kept = Counter((named(node.node), node.code) for node in kept_nodes(play.observation.fleet()))
    return _end(commands, equivalence_keys_of(snapshot), nodes, kept, (last_ns - now_ns) / 10**9), played


def real_end(before: Mapping[str, Any], after: Mapping[str, Any], logged: Iterable[Mapping[str, Any]]) -> End:
    """Return the end of the real cluster."""
    begun = _places(before)
    nodes = _places(after)

    def named(document: Mapping[str, Any]) -> str:
        name = str(document["Node"]["name"])
        pool = str(document["NodeClaim"]["name"]).rpartition("-")[0]
        return name if name in begun else f"{pool}/{document['instance-type']}"

    result = list(logged)
    commands = tuple(
        (
            str(manifest["command"]).partition("/")[0],
            str(manifest["decision"]),
            tuple(sorted(map(named, manifest["disrupted-nodes"]))),
        )
        for manifest in result
    )
    prepared = load(after)
    fleet = Play(
        prepared.inventory,
        prepared.given_types,
        prepared.settings,
        prepared.now_ns,
        until_ns=prepared.now_ns,
        durations=observed(prepared.inventory.nodeclaims),
    ).observation.fleet()
    kept = Counter(
        (node.node if node.node in begun else "/".join(nodes[node.node][:2]), node.code) for node in kept_nodes(fleet)
    )
    times = [datetime.fromisoformat(manifest["time"]) for manifest in result]
    first = datetime.fromisoformat(str(before["capturedAt"]))
    seconds = (times[-1] - first).total_seconds() if times else 0.0
    return _end(commands, equivalence_keys_of(before), nodes, kept, seconds)


def equivalence_keys_of(snapshot: Mapping[str, Any]) -> dict[str, str]:
    """Return the equivalence key of every node: NodePool, type, zone and pods."""
    pods: dict[str, Counter[str]] = {}
    for manifest in snapshot["objects"]:
        if manifest["kind"] == "Pod":
            pods.setdefault(manifest["spec"]["nodeName"], Counter())[manifest["metadata"]["labels"]["app"]] += 1
    equivalence_keys = {}
    for name, (pool, kind, _, zone) in _places(snapshot).items():
        held = sorted(pods.get(name, Counter[str]()).items())
        equivalence_keys[name] = " ".join((pool, kind, zone, *(f"{app}:{count}" for app, count in held)))
    return equivalence_keys


def _end(
    commands: tuple[Told, ...],
    equivalence_keys: Mapping[str, str],
    nodes: Mapping[str, Place],
    kept: Counter[tuple[str, str]],
    seconds: float,
) -> End:
    return End(
        commands,
        frozenset(nodes) & equivalence_keys.keys(),
        equivalence_keys,
        Counter((pool, kind) for pool, kind, _, _ in nodes.values()),
        round(sum(_PRICES[place[1:]] for place in nodes.values()), 6),
        kept,
        seconds,
    )


def _place(labels: Mapping[str, str]) -> Place:
    return labels.get(NODEPOOL, ""), labels.get(INSTANCE_TYPE, ""), labels.get(CAPACITY_TYPE, ""), labels.get(ZONE, "")


def _places(snapshot: Mapping[str, Any]) -> dict[str, Place]:
    nodes = (manifest["metadata"] for manifest in snapshot["objects"] if manifest["kind"] == "Node")
    return {node["name"]: _place(node["labels"]) for node in nodes}


def _prices() -> Iterator[tuple[tuple[str, str, str], float]]:
    for fleet_type in fleet_types():
        for offer in fleet_type["offerings"]:
            values = {term["key"]: term["values"][0] for term in offer["requirements"]}
            yield (fleet_type["name"], values[CAPACITY_TYPE], values[ZONE]), offer["price"]


_PRICES = dict(_prices())


class Figures(NamedTuple):
    """The result of a fleet's comparison."""

    seed: int
    nodes: int
    """Nodes at the start."""
    ends: tuple[int, int]
    """Nodes at the end: in the forecast, in the real cluster."""
    prices: tuple[float, float]
    commands: tuple[int, int]
    seed_told: int
    """Seed of the shown forecast, the likeliest of several; all forecast values are from it."""
    alike: int
    """Number of equal commands before the first difference; nodes are compared by equivalence key."""
    alike_at_once: int
    """The same for the forecast with seed 0."""
    foretold: int
    """Number of forecasts that predict the first commands of the cluster in order."""
    survivors: tuple[int, int, int]
    """Number of surviving nodes, by equivalence key: in both, only in the forecast, only in the cluster."""
    is_kept_alike: bool
    """Whether the same nodes have the same blockers."""
    is_shaped_alike: bool
    """Whether the number of nodes of each NodePool and type is equal."""
    price_spread: tuple[float, float]
    """Lowest and highest price of several seeds."""
    seconds: tuple[float, float]
    decided: tuple[int, int]
    """Number of real commands that Karpenter's rules permit, each checked separately; and number of all commands."""

    @property
    def is_foretold(self) -> bool:
        """Whether the shown forecast predicted the first commands in order."""
        return self.alike >= min(FIRST, self.commands[1])


def compare(folder: Path, seed: int) -> Figures:
    """Compare a recording with its forecast."""
    before, after, logged = (json.loads((folder / f"{seed}-{name}.json").read_text()) for name in RECORDED)
    ends = [predicted(before, number, measured_before(folder, seed)) for number in range(SPREAD)]
    real = real_end(before, after, logged)
    plays, told = [end for end, _ in ends], likeliest([played for _, played in ends])
    ours = plays[told]
    alike = [_alike(end, real) for end in plays]
    prices = [end.price for end in plays]
    left, right = (Counter(end.equivalence_keys[name] for name in end.survivors) for end in (ours, real))
    return Figures(
        seed,
        len(_places(before)),
        (ours.shapes.total(), real.shapes.total()),
        (ours.price, real.price),
        (len(ours.commands), len(real.commands)),
        told,
        alike[told],
        alike[0],
        sum(1 for count in alike if count >= min(FIRST, len(real.commands))),
        ((left & right).total(), (left - right).total(), (right - left).total()),
        ours.kept == real.kept,
        ours.shapes == real.shapes,
        (min(prices), max(prices)),
        (ours.seconds, real.seconds),
        (len(real.commands) - len(not_permitted(folder, seed)), len(real.commands)),
    )


def measured_before(folder: Path, seed: int) -> float | None:
    """Return the seconds that Karpenter needed per simulated removal before the forecast, or None if unknown."""
    file = folder / f"{seed}-metrics.txt"
    if not file.exists():
        return None
    return read_metrics(file.read_bytes(), endpoint="", read_at_ns=0).seconds_per_removal


def _alike(ours: End, real: End) -> int:
    """Return the number of equal commands before the first difference."""
    pairs = zip(_by_equivalence(ours), _by_equivalence(real), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _by_equivalence(end: End) -> list[Told]:
    return [
        (reason, decision, tuple(sorted(end.equivalence_keys.get(name, name) for name in nodes)))
        for reason, decision, nodes in end.commands
    ]


def live(start: Start, folder: Path, sizes: tuple[int, int], seed: int) -> None:
    """Build a fleet, record it, open its budgets, and record its end."""
    nodes = random.Random(f"size-{seed}").randint(*sizes)
    fleet = make_fleet(seed, nodes)
    with start() as cluster:
        cluster.build(fleet)
        cluster.record(folder / f"{seed}-watch.jsonl")
        before = cluster.snapshot(f"fleet-{seed}", fleet)
        (folder / f"{seed}-metrics.txt").write_text(cluster.metrics())
        cluster.open_budgets(fleet)
        is_quiet = cluster.until_quiet(QUIET, LONGEST)
        after = cluster.snapshot(f"fleet-{seed}-end")
        (folder / f"{seed}-metrics-end.txt").write_text(cluster.metrics())
        for name, texts in zip(RECORDED, (before, after, cluster.commands()), strict=True):
            (folder / f"{seed}-{name}.json").write_text(json.dumps(texts))
        (folder / f"{seed}.log").write_text(cluster.logged())
        if not is_quiet:
            raise TimeoutError(f"fleet {seed} was still changing after {LONGEST:g} s")


def _raise_priority() -> None:
    """Raise the priority of this thread and its children, if permitted, because the test depends on timing."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)


def _safely(task: Callable[[int], None], seed: int) -> str:
    try:
        task(seed)
    except (AssertionError, OSError, RuntimeError, urllib3.exceptions.HTTPError):
        return f"fleet {seed}: {traceback.format_exc()}"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=numbers, default=range(1, 11), help="such as 1-10")
    parser.add_argument("--nodes", type=numbers, default=SIZES, help="before they shrink, about: such as 30-80")
    parser.add_argument("--karpenter", default=MODELLED, help=f"version of the core ({MODELLED})")
    parser.add_argument("--at-once", type=int, default=2, help="clusters that run at a time (2)")
    parser.add_argument("--again", action="store_true", help="compare existing recordings, and run nothing")
    given = parser.parse_args(arguments)
    problems = "" if given.again else record(given.programs, given.folder, given.seeds, **_options(given))
    sys.stderr.write(problems)
    for seed in sorted(recorded(given.folder) & set(given.seeds)):
        sys.stdout.write(f"{row(compare(given.folder, seed))}\n")
    return 1 if problems else 0


def _options(given: argparse.Namespace) -> dict[str, Any]:
    return {"sizes": given.nodes, "karpenter": given.karpenter, "at_once": given.at_once}


def record(
    programs: Path,
    folder: Path,
    seeds: Iterable[int],
    *,
    sizes: range = SIZES,
    karpenter: str = MODELLED,
    at_once: int = 2,
) -> str:
    """Run fleets and record their ends; return the errors."""
    folder.mkdir(parents=True, exist_ok=True)
    stopping = threading.Event()
    for item in (signal.SIGINT, signal.SIGTERM):
        signal.signal(item, lambda *_: stopping.set())
    start = partial(whole_cluster, programs, karpenter, stopping)
    task = partial(live, start, folder, (sizes.start, sizes.stop - 1))
    with ThreadPoolExecutor(at_once, initializer=_raise_priority) as pool:
        return "".join(pool.map(partial(_safely, task), seeds))


def recorded(folder: Path) -> set[int]:
    """Return the seeds of the fleets with a complete recording."""
    seeds = {int(path.name.partition("-")[0]) for path in folder.glob(f"*-{RECORDED[-1]}.json")}
    return {seed for seed in seeds if all((folder / f"{seed}-{name}.json").exists() for name in RECORDED)}


def row(figures: Figures) -> str:
    """Return a row of a Markdown table."""
    both, ours, real = figures.survivors
    off = (figures.prices[0] / figures.prices[1] - 1) * 100 if figures.prices[1] else 0.0
    cells = (
        figures.seed,
        figures.nodes,
        f"{figures.ends[0]} / {figures.ends[1]}",
        f"{figures.prices[0]:.3f} / {figures.prices[1]:.3f} ({off:+.1f} %)",
        f"{figures.price_spread[0]:.3f} to {figures.price_spread[1]:.3f}",
        f"{figures.commands[0]} / {figures.commands[1]}",
        f"{figures.alike} ({figures.alike_at_once}; {figures.foretold} of {SPREAD})",
        f"{both} + {ours} / {real}",
        "yes" if figures.is_kept_alike else "no",
        "yes" if figures.is_shaped_alike else "no",
        f"{figures.seconds[0]:.0f} / {figures.seconds[1]:.0f}",
        f"{figures.decided[0]} of {figures.decided[1]}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def numbers(text: str) -> range:
    """Return the range of ``1-10`` or of ``7``."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    sys.exit(main())
