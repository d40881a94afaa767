"""A picture of packing: NodePools as boxes, nodes as bins, the longer the larger, pods as blocks in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from karptui.kube.units import counted, cpu_pair_text, memory_pair_text, percent_text
from karptui.session.packing import Bin, Block
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean, short_name

RESOURCES: Final = ("cpu", "memory")
DAEMON: Final = "▓"
FULL: Final = "█"
END: Final = "▊"
"""The last cell of a pod, with a gap to the next."""
SMALL: Final = "▒"
"""A cell in which several pods are."""
FREE: Final = "░"
NAME: Final = 13
_PERCENT: Final = 4
LEAST: Final = 4
"""Cells of the smallest bin."""
MOST: Final = 18
"""Of the largest."""
GAP: Final = 2
LEGEND: Final[Pieces] = (
    (DAEMON, Tone.DAEMON),
    (" DaemonSets  ", Tone.MUTED),
    (FULL * 2 + END, Tone.WORKLOAD),
    (" a pod  ", Tone.MUTED),
    (SMALL, Tone.WORKLOAD),
    (" several small ones  ", Tone.MUTED),
    (FREE, Tone.MUTED),
    (" free · longer: larger", Tone.MUTED),
)


def packing_lines(bins: Sequence[Bin], resource: str, width: int) -> tuple[Pieces, ...]:
    """Return the picture.

    Args:
        bins: The nodes, those of a NodePool together.
        resource: ``cpu`` or ``memory``: what nodes and pods are measured by.
        width: Cells of a line.
    """
    if not bins:
        return ((("no node says yet what it has", Tone.MUTED),),)
    largest = max(size_of(one, resource) for one in bins)
    lines: list[Pieces] = [LEGEND]
    for pool, group in groupby(bins, key=lambda one: one.pool):
        nodes = tuple(group)
        lines.append(_heading(pool, nodes, resource, width))
        lines += bin_lines(nodes, resource, largest, width)
    return tuple(lines)


def bin_lines(nodes: Sequence[Bin], resource: str, largest: int, width: int) -> Iterator[Pieces]:
    """Yield nodes side by side, as many as a line has room for.

    Args:
        nodes: The nodes.
        resource: ``cpu`` or ``memory``.
        largest: What the largest of all nodes has of it.
        width: Cells of a line.
    """
    room = NAME + 1 + MOST + 1 + _PERCENT
    columns = max((width + GAP) // (room + GAP), 1)
    for start in range(0, len(nodes), columns):
        line: list[tuple[str, Tone]] = []
        for one in nodes[start : start + columns]:
            line += (*_drawn(one, resource, largest), (" " * GAP, Tone.NORMAL))
        yield tuple(line[:-1])


def _heading(pool: str, nodes: Sequence[Bin], resource: str, width: int) -> Pieces:
    asked, whole = sum(asked_of(one, resource) for one in nodes), sum(size_of(one, resource) for one in nodes)
    pair = cpu_pair_text if resource == "cpu" else memory_pair_text
    pods = sum(len(one.pods) for one in nodes)
    name = f"─ {pool_text(pool)} "
    figures = f"{counted(len(nodes), 'node')}, {counted(pods, 'pod')}, {resource} {pair(asked, whole)} "
    text = f"{figures}{percent_text(asked, whole)} "
    return ((name, Tone.STRONG), (text, Tone.NORMAL), ("─" * max(width - len(name) - len(text), 0), Tone.MUTED))


def pool_text(pool: str) -> str:
    """Return the name of a NodePool."""
    return clean(pool) or "not Karpenter’s"


def _drawn(one: Bin, resource: str, largest: int) -> Iterator[tuple[str, Tone]]:
    size = size_of(one, resource)
    # By its root: beside a node with 64 cores one with 2 would be no bin at all.
    cells = max(round(MOST * math.sqrt(size / largest)), LEAST)
    yield f"{short_text(one.name, NAME):<{NAME}} ", Tone.STRONG
    yield from filled(one, resource, cells, MOST)


def filled(one: Bin, resource: str, cells: int, most: int) -> Iterator[tuple[str, Tone]]:
    """Yield a bin, and how full it is.

    Args:
        one: The node.
        resource: ``cpu`` or ``memory``.
        cells: How long the bin is.
        most: How long the longest is.
    """
    size = size_of(one, resource)
    yield from blocks(_of(one.daemons, resource), [_of(pod, resource) for pod in one.pods], size, cells)
    percent = percent_text(asked_of(one, resource), size)
    yield " " * (most - cells), Tone.NORMAL
    yield f" {percent:>{_PERCENT}}", Tone.WARNING if asked_of(one, resource) > size else Tone.NORMAL


def short_text(name: str, width: int) -> str:
    """Return the end of a node's name that tells it apart."""
    text = short_name(clean(name)).removeprefix("ip-")
    return text if len(text) <= width else f"…{text[1 - width :]}"


def blocks(daemons: int, pods: Iterable[int], size: int, cells: int) -> tuple[tuple[str, Tone], ...]:
    """Return the cells of a bin: DaemonSets, pods from the largest to the smallest, what is free.

    Args:
        daemons: What DaemonSets request.
        pods: What each other pod requests.
        size: What the node has.
        cells: How long the bin is.
    """
    asked = sorted((pod for pod in pods if pod > 0), reverse=True)
    filled = min(max(round((daemons + sum(asked)) * cells / size), 1 if daemons or asked else 0), cells)
    first = min(max(round(daemons * cells / size), 1 if daemons else 0), filled)
    drawn = ""
    position = float(first)
    for pod in asked:
        end = min(position + pod * cells / size, float(cells))
        whole = int(end) - first - len(drawn)
        if pod * cells >= size and whole > 0:
            drawn += FULL * (whole - 1) + END
        elif whole > 0:
            drawn += SMALL * whole
        position = end
    drawn = drawn[: filled - first].ljust(filled - first, SMALL)
    return ((DAEMON * first, Tone.DAEMON), (drawn, Tone.WORKLOAD), (FREE * (cells - filled), Tone.MUTED))


def _of(block: Block, resource: str) -> int:
    return block.cpu if resource == "cpu" else block.memory


def size_of(one: Bin, resource: str) -> int:
    """Return what a node has."""
    return max(one.cpu if resource == "cpu" else one.memory, 1)


def asked_of(one: Bin, resource: str) -> int:
    """Return what its pods request."""
    return _of(one.daemons, resource) + sum(_of(pod, resource) for pod in one.pods)
