"""What a scenario changes, as lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from karptui.aws.money import node_price_text, saved_text
from karptui.kube.units import NA, first_of
from karptui.views.whatif.sentences import replacements_text
from karptui.views.whatif.totals import not_counted_text
from karptui.whatif.difference_lines import COUNTED, NotCounted

MAX_NAMES: Final = 3
MAX_LINES: Final = 20
"""Lines of each part; JSON has all."""
_TITLES: Final = {
    "pending": "pending now",
    "scratch": "from scratch",
    "remove": "without the removed nodes",
    "next": "next disruption",
}


def lines_of(document: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of an answer."""
    if "nodeClaims" in document:
        yield from _self_check(document)
        return
    head = ": ".join(filter(None, (document["name"], document.get("scenario", ""))))
    if "error" in document:
        yield head
        yield f"  {document['error']}"
        return
    yield f"{head} ({_TITLES[document['replay']]})"
    yield from (f"  {sentence}; the rest is as if it took that" for sentence in document["refused"])
    yield f"  {document['sentence']}"
    yield from _indented(_totals(document))
    yield from _indented(_pools(document["nodePools"]))
    yield from _part("new nodes that the edits bring", _claims(document["newNodeClaims"]))
    yield from _part("new nodes that come no more", _claims(document["newNodeClaimsGone"]))
    yield from _part("pods that find a place now", _moves(document["nowFit"]))
    yield from _part("pods that find no place any more", _unplaced(document["noLongerFit"]))
    yield from _part("pods that still find no place", _unplaced(document["stillPending"]))
    yield from _part("pods that go elsewhere", _moves(document["moves"]))
    yield from _part("NodeClaims that would drift", _drift(document["driftGained"]))
    yield from _part("NodeClaims that would no longer be drifted", _drift(document["driftLost"]))
    yield from _part("blockers gained", _blockers(document["blockersGained"]))
    yield from _part("blockers lost", _blockers(document["blockersLost"]))
    yield from _part("disruption budgets", _budgets(document["budgets"]))
    if "nextAfter" in document:
        yield from _part("Karpenter's next disruption now", _next(document["nextBefore"]))
        yield from _part("Karpenter's next disruption after the edits", _next(document["nextAfter"]))
    for title, key in (("note", "notes"), ("approximated", "approximated"), ("not modelled", "notModelled")):
        yield from (f"  {title}: {sentence}" for sentence in document[key])


def _self_check(document: dict[str, Any]) -> Iterator[str]:
    yield f"{document['name']}: {document['sentence']}"
    for claim in document["nodeClaims"]:
        same = ", same list of types" if claim["hasSameTypes"] else ""
        because = f": {claim['because']}" if claim["because"] else ""
        yield f"  {claim['name']} ({claim['nodePool']}, {claim['instanceType']}) {claim['finding']}{because}{same}"


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows with columns of one width; the first column stands left, the others right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(widths[i]) if i else cell.ljust(widths[i]) for i, cell in enumerate(row)]
        yield "  ".join(cells).rstrip()


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}".rstrip() for line in lines)


def _part(title: str, lines: Iterable[str]) -> Iterator[str]:
    shown = list(lines)
    if not shown:
        return
    yield f"  {title}:"
    yield from (f"    {line}" for line in shown[:MAX_LINES])
    if len(shown) > MAX_LINES:
        yield f"    and {len(shown) - MAX_LINES} more (-o json has all)"


def _totals(document: dict[str, Any]) -> Iterator[str]:
    before, after = document["before"], document["after"]
    change, price = document["priceDeltaPerHour"], before["pricePerHour"]
    share = f" ({change / price:+.1%})" if price else ""
    rows = [
        ("", "now", "edited", "change"),
        *(
            (
                f"{name} ({COUNTED})" if name == "nodes" else name,
                str(before[name]),
                str(after[name]),
                f"{after[name] - before[name]:+d}",
            )
            for name in ("nodes", "launched", "pending", "drifted")
        ),
        ("$/h", f"{price:.4f}", f"{after['pricePerHour']:.4f}", f"{change:+.4f}{share}"),
    ]
    yield from table(rows)
    counts = document["notCounted"]
    without = not_counted_text(NotCounted(counts["unmanaged"], counts["leaving"], counts["unlaunched"]))
    if without:
        yield f"not counted: {without}"
    if before["unpriced"] or after["unpriced"]:
        most = [side["unpricedAtMostPerHour"] for side in (before, after)]
        is_bounded = not (before["unbounded"] or after["unbounded"])
        bound = f", at most {most[0]:.4f} -> {most[1]:.4f} $/h more" if is_bounded else ""
        yield f"nodes without a known price are left out: {before['unpriced']} -> {after['unpriced']}{bound}"


def price_text(per_hour: float, unpriced: int) -> str:
    """Return what nodes cost: n/a where no price is known, with a plus where some are not."""
    return NA if unpriced and not per_hour else f"{per_hour:.4f}{'+' if unpriced else ''}"


def _pool_price(pool: dict[str, Any], side: str) -> str:
    return price_text(pool[f"pricePerHour{side}"], pool[f"unpriced{side}"])


def _pools(pools: Sequence[dict[str, Any]]) -> Iterator[str]:
    changed = [
        pool
        for pool in pools
        if pool["isNew"]
        or pool["isGone"]
        or (pool["nodesBefore"], round(pool["pricePerHourBefore"], 6))
        != (pool["nodesAfter"], round(pool["pricePerHourAfter"], 6))
    ]
    if not changed:
        return
    yield ""
    pods = [sum(pool[key] for pool in pools) for key in ("podsBefore", "podsAfter")]
    rows = [("NODEPOOL", "NODES", "NEW", "$/H", "PODS", "")]
    for pool in changed:
        word = "new" if pool["isNew"] else "gone" if pool["isGone"] else ""
        rows.append(
            (
                pool["name"] or "(none)",
                f"{pool['nodesBefore']} -> {pool['nodesAfter']}",
                f"{pool['launchedBefore']} -> {pool['launchedAfter']}",
                f"{_pool_price(pool, 'Before')} -> {_pool_price(pool, 'After')}",
                " -> ".join(
                    _share(pool[key], sum_) for key, sum_ in zip(("podsBefore", "podsAfter"), pods, strict=True)
                ),
                word,
            )
        )
    yield from table(rows)
    yield ""


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


def _claims(claims: Sequence[dict[str, Any]]) -> Iterator[str]:
    for claim in claims:
        if not claim["isChanged"]:
            continue
        types = claim["instanceTypes"]
        first = types[0] if types else {"name": "no type", "pricePerHour": None, "capacityType": "", "zone": ""}
        price = _price(claim)
        more = f" or {len(types) - 1} dearer types" if len(types) > 1 else ""
        where = " ".join(filter(None, (first["capacityType"], first["zone"])))
        yield f"{claim['nodePool']}: {first['name']} {price} {where}{more}, for {first_of(claim['pods'], MAX_NAMES)}"


def _price(claim: dict[str, Any]) -> str:
    if claim["pricePerHour"] is not None:
        return f"{node_price_text(claim['pricePerHour'])}/h"
    return "n/a" if claim["atMostPerHour"] is None else f"n/a (at most {node_price_text(claim['atMostPerHour'])}/h)"


def _moves(moves: Sequence[dict[str, Any]]) -> Iterator[str]:
    for move in moves:
        yield f"{first_of(move['pods'], MAX_NAMES)}: {_place(move['before'])} -> {_place(move['after'])}"


def _place(place: dict[str, Any]) -> str:
    match place["kind"]:
        case "node":
            return str(place["node"])
        case "new node":
            return f"new node of {place['nodePool']}"
        case kind:
            return str(kind)


def _unplaced(pods: Sequence[dict[str, Any]]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for pod in pods:
        groups.setdefault((pod["owner"] or pod["pod"], pod["reason"]), []).append(pod["pod"])
    for (_, reason), names in groups.items():
        yield f"{first_of(names, MAX_NAMES)}: {reason}"


def _drift(lines: Sequence[dict[str, Any]]) -> Iterator[str]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for line in lines:
        groups.setdefault((line["nodePool"], line["reason"], line["because"]), []).append(line["nodeClaim"])
    for (pool, reason, because), names in groups.items():
        yield f"{len(names)} of {pool}: {reason}, {because} ({first_of(names, MAX_NAMES)})"


def _blockers(lines: Sequence[dict[str, Any]]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines:
        groups.setdefault((line["code"], line["message"]), []).append(line)
    for (code, message), alike in groups.items():
        objects = list(dict.fromkeys(line["object"] or line["nodeName"] for line in alike))
        nodes = {line["nodeName"] for line in alike}
        times = f" on {len(nodes)} nodes" if len(nodes) > 1 else ""
        yield f"{code} {first_of(objects, MAX_NAMES)}{times}: {message}"


def _budgets(lines: Sequence[dict[str, Any]]) -> Iterator[str]:
    for line in lines:
        before, after = (_count(line[key]) for key in ("allowedBefore", "allowedAfter"))
        left = f"left now {_count(line['leftBefore'])} -> {_count(line['leftAfter'])}"
        yield f"{line['nodePool']} {line['reason']}: {before} -> {after} nodes, {left}"


def _count(count: int | None) -> str:
    return "no limit" if count is None else str(count)


def _next(side: dict[str, Any]) -> Iterator[str]:
    if not side["commands"]:
        yield side["because"]
    for command in side["commands"]:
        made = replacements_text([(one["nodePool"], one["instanceType"]) for one in command["replacements"]])
        by = f" by {made}" if made else ""
        saved = command["savingsPerHour"]
        saves = "" if saved is None else f", {saved_text(saved)}"
        yield f"{command['method']}: {command['decision']} {first_of(command['nodes'], MAX_NAMES)}{by}{saves}"
