"""Placements of pods as foldable lines: new nodes, existing nodes, and unschedulable pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from karptui.aws.money import node_price_text
from karptui.kube.group import group_by
from karptui.kube.units import count_text, counted, first_of
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import short_name
from karptui.whatif.difference import Difference
from karptui.whatif.difference_lines import ClaimLine, MoveLine, NodeLine, PlaceKind, PodPlace, TypeOption, Unplaced

MOST_NAMES: Final = 3
"""Names that a line tells; opened, it tells all."""


class Target(NamedTuple):
    """Target of a line."""

    kind: str
    """As the API writes it, or `INSTANCE_TYPE`."""
    key: str
    """``namespace/name``, or the name alone."""
    pool_name: str = ""
    """Of an instance type, the NodePool whose node it is."""


INSTANCE_TYPE: Final = "InstanceType"


class Detail(NamedTuple):
    """A line that is there while the one above it is open."""

    pieces: Pieces
    target: Target | None = None


class ResultLine(msgspec.Struct, frozen=True):
    """A line, with its details."""

    key: str
    """Identity across results, which the cursor and open lines follow."""
    pieces: Pieces
    details: tuple[Detail, ...] = ()
    """Lines shown when it is opened."""
    target: Target | None = None
    is_heading: bool = False
    has_gap: bool = False
    """Whether an empty line precedes it, as with headings."""
    wraps: bool = False
    """Whether it is shown whole however long it is."""


def heading(key: str, title: str, note: str = "", tone: Tone = Tone.STRONG) -> ResultLine:
    """Return the title of a section."""
    return ResultLine(key, ((title, tone), (f"  {note}" if note else "", Tone.MUTED)), is_heading=True)


def listed(names: Iterable[str], kind: str, indent: str = "      ") -> tuple[Detail, ...]:
    """Return a line for each object of a kind, which leads to it."""
    return tuple(Detail(((f"{indent}{name}", Tone.NORMAL),), Target(kind, name)) for name in names)


MOST_TYPES = 40
"""Maximum number of types listed for a NodeClaim, in Karpenter's order."""


def _place_text(place: PodPlace | None) -> str:
    if place is None or place.kind is PlaceKind.ABSENT:
        return "missing"
    if place.kind is PlaceKind.NONE:
        return "unschedulable"
    if place.kind is PlaceKind.CLAIM:
        return f"a new node of {place.pool_name}"
    return short_name(place.node_name)


def claim_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return the new nodes, equal ones in one line."""
    claims, before = difference.claims, difference.claims_before
    if not claims and not before:
        return ()
    fresh = sum(line.is_changed for line in claims)
    note = f"{count_text(fresh)} different from now" if fresh != len(claims) else ""
    lines = [heading("claims", f"New nodes: {count_text(len(claims))}", note)]
    lines += [_claim_line(alike, "edited") for alike in group_by(claims, _common).values()]
    if before:
        title = f"New nodes no longer launched: {count_text(len(before))}"
        lines.append(heading("claims-before", title, "in the current cluster", Tone.MUTED))
        lines += [_claim_line(alike, "now") for alike in group_by(before, _common).values()]
    return tuple(lines)


def _common(claim: ClaimLine) -> tuple[object, ...]:
    """Return the key by which claims share a line."""
    types = tuple(option.name for option in claim.types)
    return claim.pool_name, types, claim.price_per_hour, claim.at_most_per_hour, claim.is_changed


def _claim_line(alike: Sequence[ClaimLine], side: str) -> ResultLine:
    line = alike[0]
    pods = sorted(pod for claim in alike for pod in claim.pods)
    count = f"{count_text(len(alike))} × " if len(alike) > 1 else ""
    sign = (
        ("+ ", Tone.GOOD)
        if side == "edited" and line.is_changed
        else ("− ", Tone.MUTED)
        if side == "now"
        else ("  ", Tone.MUTED)
    )
    return ResultLine(
        f"claim/{side}/{line.pool_name}/{pods[0] if pods else ''}",
        (
            ("  ", Tone.NORMAL),
            sign,
            (f"{count}{line.pool_name}", Tone.STRONG),
            (f"  {_types_text(line)}", Tone.NORMAL),
            (f"  ← {first_of(pods, 2)}", Tone.MUTED),
        ),
        details=(*_claim_details(line), *_pod_details(alike)),
        target=Target("NodePool", line.pool_name),
    )


def _types_text(claim: ClaimLine) -> str:
    cheapest = claim.cheapest
    if cheapest is None:
        return "without a type"
    more = f" … {counted(len(claim.types), 'type')}" if len(claim.types) > 1 else ""
    return f"{cheapest.name}{more}{_price_text(claim)}"


def _price_text(claim: ClaimLine) -> str:
    if claim.price_per_hour is not None:
        return f" from {node_price_text(claim.price_per_hour)}"
    if claim.at_most_per_hour is not None:
        return f" n/a, at most {node_price_text(claim.at_most_per_hour)}"
    return " n/a"


def _claim_details(claim: ClaimLine) -> tuple[Detail, ...]:
    requests = " ".join(f"{name} {quantity}" for name, quantity in claim.requests)
    head = Detail(((f"      requests {requests}, including its DaemonSet pods", Tone.MUTED),))
    width = max((len(option.name) for option in claim.types), default=0)
    is_spot_known = claim.at_most_per_hour is None
    types = tuple(
        Detail(
            _type_line(option, width, is_spot_known=is_spot_known), Target(INSTANCE_TYPE, option.name, claim.pool_name)
        )
        for option in claim.types[:MOST_TYPES]
    )
    left = len(claim.types) - MOST_TYPES
    rest = (Detail(((f"      and {count_text(left)} more expensive types", Tone.MUTED),)),) if left > 0 else ()
    return (head, *types, *rest)


def _type_line(option: TypeOption, width: int, *, is_spot_known: bool) -> Pieces:
    price = node_price_text(option.price_per_hour) if option.price_per_hour is not None else "n/a"
    if option.capacity_type == "spot" and not is_spot_known:
        price = f"≤ {price}"
    spot = Tone.SPOT if option.capacity_type == "spot" else Tone.MUTED
    return (
        (f"      {option.name:<{width}}  {price:>10}", Tone.NORMAL),
        (f"  {option.capacity_type}", spot),
        (f"  {option.zone}", Tone.MUTED),
    )


def _pod_details(alike: Sequence[ClaimLine]) -> tuple[Detail, ...]:
    lines: list[Detail] = []
    for number, claim in enumerate(alike, 1):
        title = f"node {count_text(number)}: " if len(alike) > 1 else ""
        lines.append(Detail(((f"      {title}{counted(len(claim.pods), 'pod')}", Tone.MUTED),)))
        lines += listed(claim.pods, "Pod", "        ")
    return tuple(lines)


def node_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return the nodes that exist and receive pods."""
    if not difference.nodes:
        return ()
    lines = [heading("nodes", f"Existing nodes used: {count_text(len(difference.nodes))}")]
    lines += [_node_line(node) for node in difference.nodes]
    return tuple(lines)


def _node_line(line: NodeLine) -> ResultLine:
    pool = f"  {line.pool_name}" if line.pool_name else ""
    return ResultLine(
        f"node/{line.node_name}",
        (
            ("  + " if line.is_changed else "    ", Tone.GOOD),
            (short_name(line.node_name), Tone.STRONG),
            (pool, Tone.MUTED),
            (f"  ← {first_of(line.pods, 2)}", Tone.MUTED),
        ),
        details=listed(line.pods, "Pod"),
        target=Target("Node", line.node_name),
    )


def fit_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return the pods that gain or lose a place."""
    lines: list[ResultLine] = []
    if difference.no_longer_fit:
        count = counted(len(difference.no_longer_fit), "pod")
        lines.append(heading("lost", f"No longer placed: {count}", tone=Tone.FAULT))
        lines += _unplaced_lines(difference.no_longer_fit, "lost")
    if difference.now_fit:
        count = counted(sum(len(line.pods) for line in difference.now_fit), "pod")
        lines.append(heading("gained", f"Placed now: {count}", tone=Tone.GOOD))
        lines += [_move_line(alike, "gained") for alike in _by_origin(difference.now_fit)]
    return tuple(lines)


def still_pending_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return the pods that are unschedulable on both sides."""
    if not difference.still_pending:
        return ()
    count = counted(len(difference.still_pending), "pod")
    title = heading("pending", f"Still unschedulable: {count}", tone=Tone.WARNING)
    return (title, *_unplaced_lines(difference.still_pending, "pending"))


def _unplaced_lines(pods: Sequence[Unplaced], section: str) -> list[ResultLine]:
    """Return pods of one workload with one reason in one line."""
    groups = group_by(pods, lambda pod: (pod.owner or pod.pod_key, pod.reason))
    return [line for alike in groups.values() for line in _unplaced_line(alike, section)]


def _unplaced_line(alike: Sequence[Unplaced], section: str) -> tuple[ResultLine, ...]:
    unplaced, keys = alike[0], [pod.pod_key for pod in alike]
    is_lost = unplaced.was is not None and unplaced.was.kind not in (PlaceKind.NONE, PlaceKind.ABSENT)
    details: list[Detail] = []
    says = unplaced.karpenter_says  # rebuilt from the NodePools' rejections on every call
    if says and says != unplaced.reason:
        details.append(Detail(((f"      Karpenter's message: {says}", Tone.MUTED),)))
    key = f"{section}/{keys[0]}"
    line = ResultLine(
        key,
        (
            ("  ✘ ", Tone.FAULT),
            (_pods_text(unplaced.owner, keys), Tone.STRONG),
            (f"  was: {_place_text(unplaced.was)}" if is_lost else "", Tone.MUTED),
        ),
        details=(*details, *(listed(keys, "Pod") if len(keys) > 1 else ())),
        target=Target("Pod", keys[0]),
    )
    return (
        line,
        ResultLine(f"{key}#why", ((f"    {unplaced.reason}", Tone.NORMAL),), target=Target("Pod", keys[0]), wraps=True),
    )


def _pods_text(owner: str, keys: Sequence[str]) -> str:
    """Return pods as text, by workload if there are several."""
    if len(keys) == 1 or not owner:
        return first_of(keys, 2)
    kind, _, name = owner.partition("/")
    return f"{name} ({counted(len(keys), 'pod')} of the {kind})"


def move_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return the pods that end up elsewhere."""
    if not difference.moves:
        return ()
    count = counted(sum(len(move.pods) for move in difference.moves), "pod")
    lines = [heading("moves", f"Placed elsewhere: {count}")]
    return (*lines, *(_move_line(alike, "moves") for alike in _by_origin(difference.moves)))


def _by_origin(moves: Sequence[MoveLine]) -> list[list[MoveLine]]:
    """Return the moves of a workload's pods together, whatever node they go to; pods on their own stay so."""
    groups = group_by(moves, lambda move: (move.owner, _sort_of(move.before)) if move.owner else move.pods)
    return list(groups.values())


def _sort_of(place: PodPlace) -> str:
    return place.kind if place.kind is PlaceKind.NODE else _place_text(place)


def _move_line(alike: Sequence[MoveLine], section: str) -> ResultLine:
    pods = [pod for line in alike for pod in line.pods]
    first = alike[0]
    before = f"{_places_text([line.before for line in alike])} → " if first.before.kind is not PlaceKind.NONE else "→ "
    details = [row for line in alike for row in _move_details(line)] if len(pods) > 1 else []
    return ResultLine(
        f"{section}/{first.pods[0]}/{_place_text(first.after)}",
        (
            ("  ✔ " if section == "gained" else "  ~ ", Tone.GOOD if section == "gained" else Tone.ACTIVE),
            (_pods_text(first.owner, pods), Tone.STRONG),
            (f"  {before}{_places_text([line.after for line in alike])}", Tone.NORMAL),
        ),
        details=tuple(details),
        target=Target("Pod", pods[0]),
    )


def _places_text(places: Sequence[PodPlace]) -> str:
    nodes = {place.node_name for place in places if place.kind is PlaceKind.NODE}
    words = (
        [f"{count_text(len(nodes))} existing nodes" if len(nodes) > 1 else short_name(next(iter(nodes)))]
        if nodes
        else []
    )
    others = dict.fromkeys(_place_text(place) for place in places if place.kind is not PlaceKind.NODE)
    return ", ".join((*others, *words))


def _move_details(line: MoveLine) -> tuple[Detail, ...]:
    text = f"      {_place_text(line.before)} → {_place_text(line.after)}: {counted(len(line.pods), 'pod')}"
    to = Target("Node", line.after.node_name) if line.after.node_name else None
    return (Detail(((text, Tone.MUTED),), to), *listed(line.pods, "Pod", "        "))
