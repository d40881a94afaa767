"""What a session in a process of its own would cost and gain: ``python benchmarks/border.py [NODES PODS]``.

The fleet of benchmarks/blockers.py, 5,000 nodes with 100,000 pods unless told otherwise. First the price of the border:
to filter and sort a list, to give a window of 64 rows as it is and as bytes written and read, and to tell the overview.
Then the gain: a ticker wants to run every 4 ms, as the screen does while somebody types, and notes how late it comes
while nothing, the analyst's thread, and an analyst in another process works. Last the memory of both processes.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from typing import Any

from analysis import SEEN, percentile, tick_until_after
from blockers import NOW_NS, fleet, instance_types

from karptui.aws.evidence import Evidence
from karptui.config import DEFAULTS
from karptui.serving.lists import lists_of
from karptui.serving.questions import answers_of
from karptui.session.analyst import Analyst
from karptui.session.border import Focus, Overview, PositionWanted, RowsWanted, RowWindow, WindowWanted
from karptui.session.cluster_view import ClusterView
from karptui.session.replays import SharedBase
from karptui.session.row_server import RowServer
from karptui.session.wire import decoded, encoded
from karptui.state.inventory import state_of

TIMES = 20
WINDOW = 64
TICK_SECONDS = 8.0


def processor_ms(work: Callable[[], Any], times: int = TIMES) -> float:
    """Return what one run keeps the processor, in milliseconds: the median of several."""
    took = []
    for _ in range(times):
        began = time.process_time()
        work()
        took.append(1000 * (time.process_time() - began))
    return statistics.median(took)


def a_view(nodes: int, pods: int) -> ClusterView:
    inventory = fleet(nodes, pods)
    return ClusterView(state_of(inventory), {}, evidence=Evidence(instance_types=instance_types()))


def wanted(name: str, **given: Any) -> RowsWanted:
    return RowsWanted(**({"list": name, "sort": "name", "now_ns": NOW_NS} | given))


def tell(what: str, milliseconds: float, more: str = "") -> None:
    print(f"  {what:<40} {milliseconds:9.3f} ms{more}")


def measure_border(view: ClusterView) -> None:
    server = RowServer(lambda: view, lists_of(DEFAULTS), answers_of(SharedBase()))
    tell("entries and overview of all", processor_ms(server.overview, 1))
    overview = server.overview()
    data = encoded(overview)
    both = processor_ms(lambda: decoded(encoded(overview), Overview))
    tell("overview written and read", both, f", {len(data):,} bytes")
    for name in ("nodes", "pods"):
        measure_list(server, name)


def measure_list(server: RowServer, name: str) -> None:
    def order(**given: Any) -> Callable[[], Any]:
        return lambda: server.rows(wanted(name, **given))

    tell(f"{name}: in order the first time", processor_ms(order(), 1))
    tell(f"{name}: by cpu", processor_ms(order(sort="cpu"), 1))
    tell(f"{name}: filtered", processor_ms(order(filter_text="a cpu>10m"), 1))
    found = server.rows(wanted(name, is_descending=True))
    ask = WindowWanted(number=found.number, offset=found.shown // 2, count=WINDOW)
    window = server.window(ask)
    data = encoded(window)
    tell(f"{name}: window of {WINDOW} rows as it is", processor_ms(lambda: server.window(ask)))
    tell(f"{name}: window written", processor_ms(lambda: encoded(window)), f", {len(data):,} bytes")
    tell(f"{name}: window read", processor_ms(lambda: decoded(data, RowWindow)))
    last = server.window(WindowWanted(number=found.number, offset=found.shown - 1, count=1)).keys[0]
    place = PositionWanted(number=found.number, key=last)
    tell(f"{name}: where the last row stands", processor_ms(lambda: server.position(place)))


def analyse(nodes: int, pods: int, is_ready: Event, is_over: Event) -> None:
    """Work as a session would, until told to end."""
    view = a_view(nodes, pods)
    analyst = analysing(view)
    is_ready.set()
    is_over.wait()
    analyst.stop()
    print(f"  memory of the other process        {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB")


def analysing(view: ClusterView) -> Analyst:
    analyst = Analyst()
    analyst.look_at(Focus(keys=tuple(f"claim/claim-{index}" for index in range(SEEN))))
    analyst.submit(view, NOW_NS)
    return analyst


def say(what: str) -> None:
    _, _, late = tick_until_after(TICK_SECONDS)
    half, most, worst = (1000 * percentile(late, share) for share in (0.5, 0.99, 1.0))
    print(f"  ticks late, {what:<28} median {half:5.1f} ms, 99 % {most:6.1f} ms, worst {worst:6.1f} ms")


def main() -> None:
    nodes, pods = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (5_000, 100_000)
    print(f"{nodes:,} nodes, {pods:,} pods")
    context = multiprocessing.get_context("spawn")
    is_ready, is_over = context.Event(), context.Event()
    other = context.Process(target=analyse, args=(nodes, pods, is_ready, is_over))
    small = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say("nothing at work")
    other.start()
    is_ready.wait()
    say("another process at work")
    is_over.set()
    other.join()
    print(f"  memory of this one without cluster {small:8.0f} MB")
    view = a_view(nodes, pods)
    measure_border(view)
    analyst = analysing(view)
    say("the analyst's thread at work")
    analyst.stop()
    print(f"  memory of this one with both       {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB")


if __name__ == "__main__":
    main()
