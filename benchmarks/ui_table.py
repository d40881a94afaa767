"""Time from a key to the repaint of a table with 100,000 rows: ``python benchmarks/ui_table.py [ROWS]``.

Measures the time from a key until its change is rendered to terminal output with all escape sequences. A headless app
writes nothing, so the compositor's update is rendered here as by Textual's driver. Use the CPU figures on a busy
machine. The last figures are the time to sort as many pods (benchmarks/pods.py), in the order of an API server's list,
by columns of the real table.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import pods
from reference import print_reference
from rich.console import RenderableType
from textual._compositor import CompositorUpdate
from textual.app import App, ComposeResult
from textual.screen import Screen

from karptui.decode.kinds import Kind
from karptui.decode.stream import StreamDecoder
from karptui.session.pods import PodEntry
from karptui.session.throttle import keep_pauses_short
from karptui.views.column import Column, Field, FieldKind, Heading
from karptui.views.filters import parse_query
from karptui.views.pods import TABLE as PODS
from karptui.views.row import Bar, Cell, Tone
from karptui.views.table import Sort, TableSpec, build_rows
from karptui.widgets.row_table.table import RowTable
from karptui.widgets.themes import style_sheets, variable_defaults

SIZE = (200, 60)
MOST_TURNS = 20
"""Maximum loop turns to wait for a repaint; unchanged rows need none."""


def bar_cell(item: int, _: int) -> Cell:
    workload = item * 977 % 14_000
    percent = (400 + workload) // 160
    return Cell(f"{(400 + workload) / 1000:.1f}/16 {percent:>3}%", short=f"{percent}%", bar=Bar(400, workload, 16_000))


COLUMNS = (
    Column[int](
        Heading("name", "NAME", min_width=14, max_width=44),
        lambda item, _: Cell(
            f"ip-10-{item >> 16}-{item >> 8 & 255}-{item & 255}.eu-west-1.compute.internal", Tone.STRONG
        ),
        lambda item: item,
    ),
    Column[int](Heading("pool", "POOL"), lambda item, _: Cell(f"pool-{item % 9}"), lambda item: item % 9),
    Column[int](Heading("type", "TYPE"), lambda _i, _: Cell("m7i.8xlarge"), lambda _: 0),
    Column[int](Heading("cap", "CAP"), lambda _i, _: Cell("spot", Tone.SPOT), lambda _: 0),
    Column[int](Heading("zone", "ZONE"), lambda _i, _: Cell("eu-west-1a", short="1a"), lambda _: 0),
    Column[int](Heading("status", "STATUS"), lambda _i, _: Cell("Ready", Tone.GOOD), lambda item: item % 5),
    Column[int](Heading("cpu", "CPU", fill_width=30), bar_cell, lambda item: item * 977 % 14_000),
    Column[int](Heading("mem", "MEM", fill_width=30), bar_cell, lambda item: item * 977 % 14_000),
    Column[int](Heading("pods", "PODS", is_right_aligned=True), lambda item, _: Cell(f"{item % 60}/234"), lambda _: 0),
    Column[int](Heading("price", "$/H", is_right_aligned=True), lambda _i, _: Cell("0.0960"), lambda _: 0),
    Column[int](Heading("why", "WHY"), lambda _i, _: Cell("DND×2", Tone.WARNING), lambda _: 0),
    Column[int](Heading("age", "AGE", is_right_aligned=True), lambda _i, _: Cell("3d4h"), lambda item: item),
)
SPEC = TableSpec[int](
    noun="rows",
    columns=COLUMNS,
    key=str,
    default_sort=Sort("name"),
    text=lambda item: f"ip-10-{item >> 16}-{item >> 8 & 255}-{item & 255}",
    more_filters={"n": Field[int](FieldKind.COUNT, lambda item, _: item)},
)


class Bench(App[None]):
    """An app with only the table."""

    CSS_PATH = style_sheets("tones", "frame")
    written = 0

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Render as for a terminal, and count the characters."""
        if isinstance(renderable, CompositorUpdate):
            self.written += len(renderable.render_segments(self.console))
        super()._display(screen, renderable)

    def get_theme_variable_defaults(self) -> dict[str, str]:  # noqa: D102
        return variable_defaults(self.current_theme)

    def compose(self) -> ComposeResult:  # noqa: D102
        yield RowTable(SPEC.headings())


def report(name: str, wall: list[float], cpu: list[float]) -> None:
    def figures(seconds: list[float]) -> str:
        p95 = sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * 0.95))]
        return f"median {statistics.median(seconds) * 1000:6.1f} p95 {p95 * 1000:6.1f}"

    print(f"{name:<30} wall ms {figures(wall)}   cpu ms {figures(cpu)}   n={len(wall)}")


async def main(count: int) -> None:
    keep_pauses_short()
    app = Bench()
    app.animation_level = "none"
    items, medians = range(count), dict[str, float]()
    async with app.run_test(size=SIZE) as pilot:
        table = app.query_one(RowTable)
        table.focus()

        async def measure(name: str, act: Callable[[], object], times: int) -> None:
            taken: list[float] = []
            spent: list[float] = []
            for _ in range(times):
                began, began_cpu = time.perf_counter(), time.process_time()
                before = app.written
                act()
                for _ in range(MOST_TURNS):
                    await asyncio.sleep(0)
                    app.screen._on_timer_update()  # noqa: SLF001 - repaint at once, not at the next tick
                    if app.written > before:
                        break
                taken.append(time.perf_counter() - began)
                spent.append(time.process_time() - began_cpu)
            report(name, taken, spent)
            medians[name.replace(" ", "_").replace(":", "")] = statistics.median(spent)

        print(f"{count:,} rows, {len(COLUMNS)} columns, {SIZE[0]}×{SIZE[1]}")
        began = time.perf_counter()
        rows = build_rows(SPEC, items, now_ns=0)
        print(f"{'sort by name and build':<34} {(time.perf_counter() - began) * 1000:14.1f} ms")
        began = time.perf_counter()
        table.set_rows(rows, Sort("name"))
        await pilot.pause()
        print(f"{'first rows to frame':<34} {(time.perf_counter() - began) * 1000:14.1f} ms")
        for key, action in (("down", lambda: table.action_cursor(1)), ("page down", lambda: table.action_page(1))):
            await measure(f"key to repaint: {key}", action, 100)
        ends = iter([1, -1] * 50)
        await measure("key to repaint: G and g", lambda: table.action_edge(next(ends)), 100)
        await measure("key to repaint: space", table.action_mark, 100)
        moments = iter(range(1, 1000))
        await measure("new rows of the same list", lambda: table.set_rows(rows.at(next(moments)), Sort("name")), 50)
        orders = iter([Sort("cpu", is_descending=True), Sort("age")] * 10)

        def sort() -> None:
            order = next(orders)
            table.set_rows(build_rows(SPEC, items, sort=order, now_ns=0), order)

        await measure("sort by another column", sort, 10)
        query = parse_query("10-0 n>500", SPEC.subject)
        await measure(
            "filter by word and number",
            lambda: table.set_rows(build_rows(SPEC, items, query=query, now_ns=0), Sort("name")),
            10,
        )
    medians |= sort_pods(count)
    print_reference(**medians)


def sort_pods(count: int) -> dict[str, float]:
    """Print and return the median processor time to sort pods by some columns, in seconds."""
    stream, medians = StreamDecoder(Kind.POD), dict[str, float]()
    decoded = [pod for page in pods.pages(count) for pod in stream.page(page).items]
    entries = sorted((PodEntry(pod.key, pod) for pod in decoded), key=lambda entry: entry.key)
    for column in ("name", "node", "owner", "cpu", "age"):
        spent: list[float] = []
        for _ in range(5):
            began = time.process_time()
            build_rows(PODS, entries, sort=Sort(column), now_ns=0)
            spent.append(time.process_time() - began)
        title, median = f"sort pods by {column}", statistics.median(spent)
        print(f"{title:<34} {median * 1000:14.1f} ms")
        medians[title.replace(" ", "_")] = median
    return medians


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else 100_000))
