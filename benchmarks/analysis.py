"""Time until the Nodes screen shows why each node is not removed, and the delay of keys meanwhile.

    python benchmarks/analysis.py

The fleet of benchmarks/blockers.py as a live cluster: 500 nodes with 10,000 pods, and 5,000 nodes with 100,000 pods.
The analyst runs in its thread as in the app, with 40 nodes on the screen. A ticker in the main thread is due every
4 ms, like the screen while the user types, and records its delay. One run each. The second pass follows the change of
one pod, which the analyst takes up after a few seconds. Times include starting the thread and importing the engines.
Each row has the elapsed time, then the processor time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from blockers import NOW_NS, fleet, instance_types
from msgspec.structs import replace
from reference import note, print_reference

from karptui.aws.evidence import Evidence
from karptui.decode.kinds import Kind
from karptui.disruption.analysis import Analysis
from karptui.session.analyst import Analyst
from karptui.session.answers import Focus
from karptui.session.cluster_view import ClusterView
from karptui.state.reducer import Batch, KindDelta, reduce
from tests.builders.clusters import state_of

TICK_SECONDS = 0.004
SEEN = 40
PATIENCE_SECONDS = 120.0


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values) or [0.0]
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def tick_until(is_done: Callable[[], bool]) -> tuple[float, float, list[float]]:
    """Return elapsed seconds, processor seconds and the delay of each tick."""
    began, worked, late = time.perf_counter(), time.process_time(), []
    while not is_done() and time.perf_counter() - began < PATIENCE_SECONDS:
        due = time.perf_counter() + TICK_SECONDS
        time.sleep(TICK_SECONDS)
        late.append(max(time.perf_counter() - due, 0.0))
    return time.perf_counter() - began, time.process_time() - worked, late


def say(what: str, seconds: float, worked: float, late: list[float]) -> None:
    half, most, worst = (1000 * percentile(late, share) for share in (0.5, 0.99, 1.0))
    lag = f"ticks late: median {half:.1f} ms, 99 % {most:.1f} ms, worst {worst:.1f} ms"
    note(what, worked)
    print(f"  {what:<46} {seconds:6.2f} s  processor {worked:5.2f} s   {lag}")


def measure(nodes: int, pods: int) -> None:
    print(f"{nodes:,} nodes, {pods:,} pods")
    inventory = fleet(nodes, pods)
    evidence = Evidence(instance_types=instance_types())
    view = ClusterView(state_of(inventory), {}, evidence=evidence)
    analyst = Analyst()
    seen = tuple(f"claim/claim-{i}" for i in range(SEEN))
    analyst.look_at(Focus(keys=seen))
    say("idle, for comparison", *tick_until_after(1.0))
    for name in ("first pass", "after one pod changed"):
        analyst.submit(view, NOW_NS)
        now = view.state.generation
        say(f"{name}: blockers on screen", *tick_until(lambda at=now: _is_at(analyst.latest, at)))
        say(f"{name}: all blockers", *tick_until(lambda at=now: _is_at(analyst.latest, at, nodes)))
        say(f"{name}: then {SEEN} nodes on screen", *tick_until(lambda at=now: _are_seen(analyst.latest, at)))
        view = changed(view)
    seconds, worked, late = tick_until_after(5.0)
    known = analyst.latest
    print(f"  {known.simulated if known else 0:,} of {nodes:,} nodes simulated {5} s later")
    say("simulating the others", seconds, worked, late)
    analyst.stop()


def tick_until_after(seconds: float) -> tuple[float, float, list[float]]:
    end = time.perf_counter() + seconds
    return tick_until(lambda: time.perf_counter() >= end)


def changed(view: ClusterView) -> ClusterView:
    """Return the view after a change of one pod."""
    key, pod = next(iter(view.state.pods.items()))
    delta = KindDelta({key: replace(pod, ready=not pod.ready)})
    state = reduce(view.state, Batch({Kind.POD: delta}))
    return ClusterView(state, view.statuses, view, evidence=view.evidence)


def _is_at(analysis: Analysis | None, generation: int, nodes: int = 1) -> bool:
    return analysis is not None and analysis.generation == generation and len(analysis.findings) >= nodes


def _are_seen(analysis: Analysis | None, generation: int) -> bool:
    if analysis is None:
        return False
    return all(analysis.simulated_in.get(f"claim/claim-{i}") == generation for i in range(SEEN))


def main() -> None:
    measure(500, 10_000)
    measure(5_000, 100_000)
    print_reference()


if __name__ == "__main__":
    main()
