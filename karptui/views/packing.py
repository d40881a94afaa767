"""Packing: NodePools as boxes, nodes as bins, the longer the larger, pods as blocks; and both sides of a what-if."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from msgspec.structs import replace

from karptui.kube.group import group_by
from karptui.kube.units import count_text, counted, cpu_pair_text, memory_pair_text, percent_text, verb
from karptui.session.packing import Bin, Block, Packed, PackedNode
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.whatif.totals import mode_text
from karptui.views.wrapping import wrapped
from karptui.whatif.scenario import Scenario

RESOURCES: Final = ("cpu", "memory")
DAEMON: Final = "▓"
FULL: Final = "█"
END: Final = "▊"
"""The last cell of a pod, with a gap to the next."""
SMALL: Final = "▒"
"""A cell that contains several pods."""
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
    """Return the packing chart."""
    if not bins:
        return ((("the pods or the capacity of the nodes are unknown", Tone.MUTED),),)
    largest = max(_size_of(node, resource) for node in bins)
    lines: list[Pieces] = [LEGEND]
    for pool, group in groupby(bins, key=lambda node: node.pool):
        nodes = tuple(group)
        lines.append(_heading(pool, nodes, nodes, resource, width))
        lines += _bin_lines(nodes, resource, largest, width)
    return tuple(lines)


def _bin_lines(nodes: Sequence[Bin], resource: str, largest: int, width: int) -> Iterator[Pieces]:
    """Yield nodes side by side, as many as fit on a line."""
    room = NAME + 1 + MOST + 1 + _PERCENT
    columns = max((width + GAP) // (room + GAP), 1)
    for start in range(0, len(nodes), columns):
        line: list[tuple[str, Tone]] = []
        for node in nodes[start : start + columns]:
            line += (*_bin_pieces(node, resource, largest), (" " * GAP, Tone.NORMAL))
        yield tuple(line[:-1])


def _bin_pieces(node: Bin, resource: str, largest: int) -> Iterator[tuple[str, Tone]]:
    yield f"{short_text(node.name, NAME):<{NAME}} ", Tone.STRONG
    yield from _bin(node, resource, largest, MOST)


def _bin(node: Bin, resource: str, largest: int, most: int) -> Iterator[tuple[str, Tone]]:
    """Yield a bin, and its fill level."""
    size = _size_of(node, resource)
    # By its square root: next to a 64-core node, a 2-core node would be invisible.
    cells = max(round(most * math.sqrt(size / largest)), LEAST)
    yield from blocks(_of(node.daemons, resource), [_of(pod, resource) for pod in node.pods], size, cells)
    percent = percent_text(_requests_of(node, resource), size)
    yield " " * (most - cells), Tone.NORMAL
    yield f" {percent:>{_PERCENT}}", Tone.WARNING if _requests_of(node, resource) > size else Tone.NORMAL


def short_text(name: str, width: int) -> str:
    """Return the end of a node's name that tells it apart."""
    text = short_name(clean(name)).removeprefix("ip-")
    return text if len(text) <= width else f"…{text[1 - width :]}"


def blocks(daemons: int, pods: Iterable[int], size: int, cells: int) -> tuple[tuple[str, Tone], ...]:
    """Return the cells of a bin: DaemonSets, pods from largest to smallest, free room."""
    largest_first = sorted((pod for pod in pods if pod > 0), reverse=True)
    filled = min(max(round((daemons + sum(largest_first)) * cells / size), 1 if daemons or largest_first else 0), cells)
    first = min(max(round(daemons * cells / size), 1 if daemons else 0), filled)
    drawn = ""
    position = float(first)
    for pod in largest_first:
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


def _size_of(node: Bin, resource: str) -> int:
    return max(node.cpu if resource == "cpu" else node.memory, 1)


def _requests_of(node: Bin, resource: str) -> int:
    return _of(node.daemons, resource) + sum(_of(pod, resource) for pod in node.pods)


_NAME: Final = 15
_MOST: Final = 40
"""Maximum length of a bin."""
_ARROW: Final = " → "
_SHARE: Final = 5
"""Cells of a percentage, and the gap before it."""


def packed_lines(packing: Packed, scenario: Scenario, resource: str, width: int) -> tuple[Pieces, ...]:
    """Return both sides: a summary, then NodePools, changed ones first."""
    if packing.problem:
        return wrapped([((f"✘ {clean(packing.problem)}", Tone.FAULT),)], width)
    lines = list(wrapped([((packed_sentence(packing), Tone.STRONG),)], width))
    mode = f"{clean(scenario.name)}, {mode_text(scenario.replay)}"
    parts = [f"{mode}: both sides simulated; + marks a new node, drawn as its cheapest type"]
    if packing.left_out:
        parts.append(f"{counted(packing.left_out, 'node')} being removed or of unknown size not drawn")
    lines += wrapped([((" · ".join(parts), Tone.MUTED),)], width)
    if not packing.nodes:
        return tuple(lines)
    bins = [packed for node in packing.nodes for packed in (node.before, node.after) if packed is not None]
    largest = max(_size_of(node, resource) for node in bins)
    most = max(min((width - _NAME - 1 - len(_ARROW)) // 2 - _SHARE, _MOST), LEAST)
    lines.append(LEGEND)
    if any(_is_changed(node) for node in packing.nodes):
        left = f"{'':<{_NAME}} {'as it is':<{most + _SHARE + len(_ARROW)}}"
        lines.append(((f"{left}after the edits", Tone.MUTED),))
    for pool, nodes in _by_pool(packing.nodes):
        old = [node.before for node in nodes if node.before is not None]
        new = [node.after for node in nodes if node.after is not None]
        lines.append(_heading(pool, old, new, resource, width))
        changed = sorted((node for node in nodes if _is_changed(node)), key=_order)
        lines += [tuple(_row(node, resource, largest, most)) for node in changed]
        rest = [
            replace(node.after, name=f"+ {node.after.name}") if node.is_launched else node.after
            for node in nodes
            if node.after is not None and not _is_changed(node)
        ]
        if changed and rest:
            lines.append(((f"unchanged: {counted(len(rest), 'node')}", Tone.MUTED),))
        rest.sort(key=lambda node: (-node.cpu, node.name))
        lines += _bin_lines(rest, resource, largest, width)
    return tuple(lines)


def packed_sentence(packing: Packed) -> str:
    """Return a summary of the changes."""
    going = sum(node.after is None and not node.is_launched for node in packing.nodes)
    launched = sum(node.before is None for node in packing.nodes)
    spared = sum(node.after is None and node.is_launched for node in packing.nodes)
    others = sum(_is_changed(node) for node in packing.nodes) - going - launched - spared
    parts = []
    if launched:
        parts.append(f"{counted(launched, 'new node')} launched")
    if going:
        parts.append(f"{counted(going, 'node')} removed")
    if spared:
        parts.append(f"{counted(spared, 'new node')} {verb(spared, 'is', 'are')} not launched any more")
    if others:
        parts.append(f"{counted(others, 'node')} {verb(others, 'runs', 'run')} other pods")
    before, after = packing.waiting_before, packing.waiting_after
    waiting = f"unschedulable pods: {_pair(count_text(before), count_text(after))}"
    return f"{', '.join(parts) or 'No node is packed differently'}; {waiting}"


def _is_changed(node: PackedNode) -> bool:
    return node.before != node.after


def _order(node: PackedNode) -> tuple[bool, bool, str]:
    packed = node.after or node.before
    return node.after is not None, node.before is not None, packed.name if packed is not None else ""


def _pool(node: PackedNode) -> str:
    packed = node.after or node.before
    return packed.pool if packed is not None else ""


def _by_pool(nodes: Sequence[PackedNode]) -> list[tuple[str, list[PackedNode]]]:
    pools = group_by(nodes, _pool)
    return sorted(pools.items(), key=lambda entry: (not any(map(_is_changed, entry[1])), entry[0] == "", entry[0]))


def _pair(before: str, after: str) -> str:
    return before if before == after else f"{before}{_ARROW}{after}"


def _heading(pool: str, old: Sequence[Bin], new: Sequence[Bin], resource: str, width: int) -> Pieces:
    """Return the name and figures of a NodePool, before and after if they differ."""
    name = f"─ {clean(pool) or 'not Karpenter’s'} "
    count = f"{_pair(count_text(len(old)), count_text(len(new)))} {_noun('node', len(old), len(new))}"
    pods = f"{_pair(count_text(_pods(old)), count_text(_pods(new)))} {_noun('pod', _pods(old), _pods(new))}"
    whole = _pair(_used(old, resource, is_long=True), _used(new, resource, is_long=True))
    share = _pair(_used(old, resource), _used(new, resource))
    parts = [f"{count}, {pods}, {resource} {whole} ", f"{count}, {pods}, {resource} {share} "]
    text = next((part for part in parts if len(name) + len(part) <= width), f"{count}, {resource} {share} ")
    return ((name, Tone.STRONG), (text, Tone.NORMAL), ("─" * max(width - len(name) - len(text), 0), Tone.MUTED))


def _noun(noun: str, *counts: int) -> str:
    return noun if set(counts) == {1} else f"{noun}s"


def _pods(bins: Sequence[Bin]) -> int:
    return sum(len(node.pods) for node in bins)


def _used(bins: Sequence[Bin], resource: str, *, is_long: bool = False) -> str:
    requested, size = sum(_requests_of(node, resource) for node in bins), sum(_size_of(node, resource) for node in bins)
    share = percent_text(requested, size)
    pair = cpu_pair_text if resource == "cpu" else memory_pair_text
    return f"{pair(requested, size)} {share}" if is_long and bins else share


def _row(node: PackedNode, resource: str, largest: int, most: int) -> Iterator[tuple[str, Tone]]:
    """Yield a node on both sides; dim if it is removed or no longer launched."""
    packed = node.after or node.before
    assert packed is not None
    name = f"+ {short_text(packed.name, _NAME - 2)}" if node.is_launched else short_text(packed.name, _NAME)
    is_dim = node.after is None
    yield f"{name:<{_NAME}} ", Tone.MUTED if is_dim else Tone.STRONG
    if node.before is None:
        yield " " * (most + _SHARE), Tone.NORMAL
    else:
        for text, tone in _bin(node.before, resource, largest, most):
            yield text, Tone.MUTED if is_dim else tone
    yield _ARROW, Tone.MUTED
    if node.after is None:
        yield "not launched" if node.is_launched else "goes", Tone.MUTED
    else:
        yield from _bin(node.after, resource, largest, most)
