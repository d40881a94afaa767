"""A picture of packing on both sides of a what-if: every node as it is beside the same as it would be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from karptui.kube.units import count_text, counted, cpu_pair_text, memory_pair_text, percent_text, verb
from karptui.session.packed import PackedNode
from karptui.session.packing import Bin
from karptui.session.questions import PackedFound
from karptui.views.packing import LEAST, LEGEND, asked_of, bin_lines, filled, pool_text, short_text, size_of
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.whatif.placements import wrapped
from karptui.views.whatif.totals import mode_text
from karptui.whatif.scenario import Scenario

_NAME: Final = 15
_MOST: Final = 40
"""Cells of the largest bin where there is room."""
_ARROW: Final = " → "
_SHARE: Final = 5
"""Cells of a percentage, and the gap before it."""


def packed_lines(found: PackedFound, scenario: Scenario, resource: str, width: int) -> tuple[Pieces, ...]:
    """Return both sides: what changes in a sentence, then NodePools, changed ones first.

    Args:
        found: The nodes.
        scenario: What is replayed.
        resource: ``cpu`` or ``memory``: what nodes and pods are measured by.
        width: Cells of a line.
    """
    if found.problem:
        return wrapped(((f"✘ {clean(found.problem)}", Tone.FAULT),), width)
    lines = list(wrapped(((packed_sentence(found), Tone.STRONG),), width))
    mode = f"{clean(scenario.name)}, {mode_text(scenario.replay)}"
    said = [f"{mode}: both sides replayed, + a new node as its cheapest type"]
    if found.left_out:
        said.append(f"{counted(found.left_out, 'node')} on the way out or of unknown size not drawn")
    lines += wrapped(((" · ".join(said), Tone.MUTED),), width)
    if not found.nodes:
        return tuple(lines)
    bins = [one for node in found.nodes for one in (node.before, node.after) if one is not None]
    largest = max(size_of(one, resource) for one in bins)
    most = max(min((width - _NAME - 1 - len(_ARROW)) // 2 - _SHARE, _MOST), LEAST)
    lines.append(LEGEND)
    if any(_is_changed(node) for node in found.nodes):
        left = f"{'':<{_NAME}} {'as it is':<{most + _SHARE + len(_ARROW)}}"
        lines.append(((f"{left}as it would be", Tone.MUTED),))
    for pool, nodes in _by_pool(found.nodes):
        lines.append(_heading(pool, nodes, resource, width))
        changed = sorted((node for node in nodes if _is_changed(node)), key=_order)
        lines += [tuple(_row(node, resource, largest, most)) for node in changed]
        rest = [_marked(node, node.after) for node in nodes if node.after is not None and not _is_changed(node)]
        if changed and rest:
            lines.append(((f"unchanged: {counted(len(rest), 'node')}", Tone.MUTED),))
        rest.sort(key=lambda one: (-one.cpu, one.name))
        lines += bin_lines(rest, resource, largest, width)
    return tuple(lines)


def packed_sentence(found: PackedFound) -> str:
    """Return what changes, in a sentence."""
    going = sum(node.after is None and not node.is_launched for node in found.nodes)
    launched = sum(node.before is None for node in found.nodes)
    spared = sum(node.after is None and node.is_launched for node in found.nodes)
    others = sum(_is_changed(node) for node in found.nodes) - going - launched - spared
    parts = []
    if launched:
        parts.append(f"{counted(launched, 'new node')} {verb(launched, 'comes', 'come')}")
    if going:
        parts.append(f"{counted(going, 'node')} {verb(going, 'goes', 'go')}")
    if spared:
        parts.append(f"{counted(spared, 'new node')} {verb(spared, 'is', 'are')} not launched any more")
    if others:
        parts.append(f"{counted(others, 'node')} {verb(others, 'holds', 'hold')} other pods")
    before, after = found.waiting_before, found.waiting_after
    waiting = f"pods without a place: {_pair(count_text(before), count_text(after))}"
    return f"{', '.join(parts) or 'No node is filled in another way'}; {waiting}"


def _is_changed(node: PackedNode) -> bool:
    return node.before != node.after


def _marked(node: PackedNode, one: Bin) -> Bin:
    return replace(one, name=f"+ {one.name}") if node.is_launched else one


def _order(node: PackedNode) -> tuple[bool, bool, str]:
    one = node.after or node.before
    return node.after is not None, node.before is not None, one.name if one is not None else ""


def _pool(node: PackedNode) -> str:
    one = node.after or node.before
    return one.pool if one is not None else ""


def _by_pool(nodes: Sequence[PackedNode]) -> list[tuple[str, list[PackedNode]]]:
    pools: dict[str, list[PackedNode]] = {}
    for node in nodes:
        pools.setdefault(_pool(node), []).append(node)
    return sorted(pools.items(), key=lambda one: (not any(map(_is_changed, one[1])), one[0] == "", one[0]))


def _pair(before: str, after: str) -> str:
    return before if before == after else f"{before}{_ARROW}{after}"


def _heading(pool: str, nodes: Sequence[PackedNode], resource: str, width: int) -> Pieces:
    old = [node.before for node in nodes if node.before is not None]
    new = [node.after for node in nodes if node.after is not None]
    name = f"─ {pool_text(pool)} "
    count = f"{_pair(count_text(len(old)), count_text(len(new)))} {_noun('node', len(old), len(new))}"
    pods = f"{_pair(count_text(_pods(old)), count_text(_pods(new)))} {_noun('pod', _pods(old), _pods(new))}"
    whole = _pair(_used(old, resource, is_long=True), _used(new, resource, is_long=True))
    share = _pair(_used(old, resource), _used(new, resource))
    said = [f"{count}, {pods}, {resource} {whole} ", f"{count}, {pods}, {resource} {share} "]
    text = next((one for one in said if len(name) + len(one) <= width), f"{count}, {resource} {share} ")
    return ((name, Tone.STRONG), (text, Tone.NORMAL), ("─" * max(width - len(name) - len(text), 0), Tone.MUTED))


def _noun(noun: str, *counts: int) -> str:
    return noun if set(counts) == {1} else f"{noun}s"


def _pods(bins: Sequence[Bin]) -> int:
    return sum(len(one.pods) for one in bins)


def _used(bins: Sequence[Bin], resource: str, *, is_long: bool = False) -> str:
    asked, whole = sum(asked_of(one, resource) for one in bins), sum(size_of(one, resource) for one in bins)
    share = percent_text(asked, whole)
    pair = cpu_pair_text if resource == "cpu" else memory_pair_text
    return f"{pair(asked, whole)} {share}" if is_long and bins else share


def _row(node: PackedNode, resource: str, largest: int, most: int) -> Iterator[tuple[str, Tone]]:
    """Yield a node on both sides; one that goes, or is not launched any more, is dim."""
    one = node.after or node.before
    assert one is not None
    name = f"+ {short_text(one.name, _NAME - 2)}" if node.is_launched else short_text(one.name, _NAME)
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


def _bin(one: Bin, resource: str, largest: int, most: int) -> Iterator[tuple[str, Tone]]:
    cells = max(round(most * math.sqrt(size_of(one, resource) / largest)), LEAST)
    yield from filled(one, resource, cells, most)
