"""Why a node is still there: the codes of the WHY column, how bad each is and what it means, and the sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from karptui.aws.money import node_price_text, per_hour_text, per_month_text, saved_text
from karptui.disruption.codes import CODES, RANKS, codes_shown_as
from karptui.disruption.deletion import DrainStage
from karptui.disruption.no_place import no_place_text
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import NA, age_text, count_text, counted, duration_text, first_of, span_text, verb
from karptui.session.costs import Held
from karptui.session.nodes import NodeEntry
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, NOT_AVAILABLE, Cell, Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.top_bar import Fact

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeFindings
    from karptui.disruption.blocker import Blocker
    from karptui.disruption.lanes import Why
    from karptui.disruption.node_verdict import Verdict
    from karptui.disruption.simulation import OthersNeed
    from karptui.session.nodes import NodeEntry


UNLIMITED_FROM: Final = 1_000_000
"""Allowances from here up are no limit at all."""
MEANINGS: Final[Mapping[str, str]] = {
    "DRAIN 12m": "its pods are being evicted, for so long; codes behind it hold the drain up",
    "DELETING": "the NodeClaim is deleted: the drain has not begun, or volumes and instance are going",
    "COMMAND": "a disruption command holds it and waits for its replacement",
    "DND×2": "so many pods say karpenter.sh/do-not-disrupt",
    "NODE-DND": "the node itself says karpenter.sh/do-not-disrupt",
    "PDB×1": "so many pods cannot be evicted because of PodDisruptionBudgets",
    "NOMINATED": "a pending pod is expected on it",
    "INIT": "it is not initialised yet",
    "NO-POOL": "its NodePool is gone or not this Karpenter's",
    "NO-TYPES": "no instance types are known for its NodePool: Pools (2) says why",
    "AFTER 3m": "consolidateAfter runs for so long; due: Karpenter has yet to say so",
    "NEVER": "consolidateAfter is Never",
    "POLICY": "consolidationPolicy is WhenEmpty and it is not empty",
    "BUDGET 0/2": "disruption budgets: left now, of so many allowed",
    "NO-TYPE": "its instance type is not among those of its NodePool",
    "NO-LABEL": "the label of its zone or capacity type is missing",
    "BUFFER": "it holds capacity for a CapacityBuffer",
    "NOFIT": "its pods have nowhere to go (simulated)",
    "NODES 2": "its pods would need so many new nodes; Karpenter replaces by one at most (simulated)",
    "UNKNOWN": "not known: the provider's instance types and prices are not",
    "MINVALUES": "too few cheaper types for the minValues of the NodePool (simulated)",
    "PRICE": "no cheaper replacement (simulated)",
    "SPOT 6/15": "spot-to-spot needs 15 cheaper types and found so many (simulated)",
    "GATE-OFF": "spot-to-spot consolidation is disabled (simulated)",
    "SCORE 0.31": "the Balanced policy asks for a score of 0.50 (simulated)",
    "STATIC": "its NodePool is static: only drift takes it",
    "REPAIR": "unhealthy, and something keeps Karpenter from repairing it: Blockers (6) says what",
    "WAITS": "it would go, but something stops the whole cluster: it stands first on Blockers (6)",
    "OK→delete": "nothing keeps it: Karpenter would delete it (simulated)",
    "OK→replace": "nothing keeps it: Karpenter would replace it (simulated)",
    "…": "nothing is in the way; whether its pods have another place is being simulated",
    "n/a": "Karpenter does not manage it",
    "!rbac": "it cannot be worked out without a permission that is missing",
}
"""By an example of each code, what it means."""
_TONES: Final[Mapping[str, Tone]] = {
    **dict.fromkeys(("DRAIN", "DELETING", "COMMAND"), Tone.LEAVING),
    **dict.fromkeys(
        ("DND", "NODE-DND", "PDB", "BUDGET", "NO-POOL", "NO-TYPES", "NO-TYPE", "NO-LABEL", "REPAIR"), Tone.WARNING
    ),
    **dict.fromkeys(("NOMINATED", "INIT", "AFTER", "WAITS", "…"), Tone.ACTIVE),
    **dict.fromkeys(("n/a", "STATIC"), Tone.MUTED),
    "OK": Tone.GOOD,
}
_COUNTED: Final = ("DND", "PDB")
BLOCKING: Final = frozenset(
    {"DND", "NODE-DND", "PDB", "BUDGET", "NO-POOL", "NO-TYPES", "NO-TYPE", "NO-LABEL", "REPAIR"}
)
"""Codes of what somebody has to lift: it does not end by itself, and the pods are not what is wrong."""


def tone_of(code: str) -> Tone:
    """Return how a code is toned."""
    return _TONES.get(code, Tone.NORMAL)


def why_text(why: Why, now_ns: int) -> str:
    """Return a code with its numbers, such as ``DND×2``, ``AFTER 3m`` and ``OK→delete``."""
    code = str(why.code)
    if code in _COUNTED:
        return f"{code}×{why.count}"
    if code == "OK":
        return f"OK→{why.outcome}"
    if code == "BUDGET":
        return f"BUDGET {why.count}/{why.of}" if why.of < UNLIMITED_FROM else "BUDGET"
    if code == "DRAIN":
        return f"DRAIN {age_text(why.since_ns, now_ns)}" if why.since_ns else code
    if code == "AFTER":
        left = (why.until_ns - now_ns) // NS_PER_SECOND
        return f"AFTER {duration_text(left)}" if left > 0 else "AFTER due"
    if code == "NODES":
        return f"NODES {why.count}"
    if code == "SPOT":
        return f"SPOT {why.count}/{why.of}"
    if code == "SCORE":
        return f"SCORE {why.score:.2f}"
    return code


def why_cell(entry: NodeEntry, now_ns: int) -> Cell:
    """Return the WHY of a node, with the other codes of a drain where there is room."""
    found = entry.findings
    if found is None:
        if entry.node is None:
            return NOT_APPLICABLE
        if entry.is_out_of_reach:
            return FORBIDDEN
        return Cell("…", Tone.MUTED) if entry.is_managed else NOT_AVAILABLE
    text = why_text(found.why, now_ns)
    also = [str(code) for code in found.why.codes[1:]] if found.why.code == "DRAIN" else []
    if also:
        return Cell(f"{text} {' '.join(also)}", tone_of(found.why.code), text)
    return Cell(text, tone_of(found.why.code))


def why_sort(entry: NodeEntry) -> tuple[float | str, ...] | None:
    """Return the place of a node by its WHY: worst first, and more of it first."""
    found = entry.findings
    return None if found is None else (float(RANKS[found.why.code]), -float(found.why.count))


def why_words(entry: NodeEntry, now_ns: int) -> tuple[str, ...]:
    """Return what a filter may ask for: the code as written, and every code that applies without its numbers."""
    found = entry.findings
    if found is None:
        return ("" if entry.is_managed else NA,)
    return tuple(dict.fromkeys((*(str(code) for code in found.why.codes), why_text(found.why, now_ns))))


def is_held(entry: NodeEntry) -> bool:
    """Whether something that somebody has to lift keeps a node."""
    return entry.findings is not None and any(str(code) in BLOCKING for code in entry.findings.why.codes)


def held_text(held: Held) -> str:
    """Return ``$4.12/h``: ``up to`` for an upper bound, a plus if nodes are missing, ``…`` if nothing is known yet."""
    if held.waiting and not held.nodes:
        return "…"
    if held.nodes and held.nodes == held.unpriced:
        return NA
    more = "+" if held.waiting or held.unpriced else ""
    bound = "up to " if held.is_upper_bound and held.per_hour else ""
    return f"{bound}{per_hour_text(held.per_hour, held.currency)}{more}"


def held_title(rows: Held, total: Held | None) -> str:
    """Return what rows hold together, for their title; and what the top bar says meanwhile, where that is not the same.

    Args:
        rows: What the rows hold that are shown.
        total: The sum of all of them in the top bar, which stands still for a while; None where some are not shown.
    """
    said, before = held_text(rows), held_text(total) if total is not None else "…"
    known = f"{said} held" if said != "…" else "held …"
    if before in (said, "…"):
        more = "+" if said.endswith("+") else ""
        bound = "up to " if said.startswith("up to") else ""
        return f"{known} ({bound}{per_month_text(rows.per_hour, rows.currency)}{more})" if said != "…" else known
    return f"{known} now ({before} before)"


def held_fact(held: Held, *, is_steady: bool = True) -> Fact:
    """Return the figure for the top bar, dim while it is not complete.

    Args:
        held: What is held.
        is_steady: Whether it is the sum of this moment, and not the last complete one.
    """
    text = f"held {held_text(held)}"
    return Fact(text, text, Tone.WARNING if held.per_hour and not held.waiting and is_steady else Tone.MUTED)


NAMED: Final = 2
"""Objects that are named before the rest is counted."""
QUOTED: Final = 300
"""Characters of Karpenter's own words that are shown: it may name every NodePool with all its requirements."""
_BETWEEN: Final = (" · ", Tone.MUTED)


def why_sentence(entry: NodeEntry, now_ns: int) -> Pieces:
    """Return what the WHY code of a node stands for; nothing before it is worked out."""
    found = entry.findings
    if found is None or entry.claim is None:
        return ()
    why, code = found.why, str(found.why.code)
    pieces: list[tuple[str, Tone]] = [(why_text(why, now_ns), tone_of(code)), ("  ", Tone.NORMAL)]
    pieces.append((f"{_wanting(found)}{_fact(found, now_ns)}", Tone.NORMAL))
    for part in (*_wanted(found), *_without(found), *_also(found), *_arrivals(found)):
        pieces += [_BETWEEN, part]
    return tuple(pieces)


_LACKED: Final = ("AFTER", "NEVER", "POLICY", "BUFFER", "STATIC", "NO-TYPE", "NO-LABEL")
_LANES: Final = {"MultiNodeConsolidation": "consolidation", "SingleNodeConsolidation": "consolidation"}


def _wanting(found: NodeFindings) -> str:
    """Return that no method wants the node, or which takes it once Karpenter goes on; else nothing."""
    code = str(found.why.code)
    if code == "WAITS" and found.why.outcome is None:
        return f"{_method_words(found.why.method)} wants it, "
    if code == "WAITS":
        return f"{_method_words(found.why.method)} takes it once Karpenter goes on: "
    return "no method wants it: " if not found.why.method and code in _LACKED else ""


def _wanted(found: NodeFindings) -> list[tuple[str, Tone]]:
    """Return which method wants the node, where that is not consolidation and something holds it."""
    is_plain = str(found.why.code) in ("OK", "WAITS") or found.why.method in ("", *_LANES)
    return [] if is_plain else [(f"wanted by {found.why.method}", Tone.NORMAL)]


def _method_words(method: str) -> str:
    return _LANES.get(method, method)


def _fact(found: NodeFindings, now_ns: int) -> str:
    code = str(found.why.code)
    own = [one for one in found.blockers if CODES[one.code].why is found.why.code]
    if found.why.method:
        own = [one for one in own if found.why.method in one.blocks] or own
    match code:
        case "DND":
            return f"{names_of(own)} {'say' if len(own) > 1 else 'says'} do-not-disrupt ({time_text(own, now_ns)})"
        case "PDB":
            return f"{_held_by_budgets(own)} ({time_text(own, now_ns)})"
        case "NODE-DND":
            return "the node itself says do-not-disrupt, which has no time limit"
        case "BUDGET" | "NEVER" | "POLICY" | "NO-POOL" | "NO-TYPES" | "NO-TYPE" | "NO-LABEL" | "AFTER" | "REPAIR":
            return next((one.message for one in own), "")
        case "DRAIN" | "DELETING":
            return drain_text(found, now_ns)
        case "WAITS" if found.why.outcome is None:
            return "but something stops the whole cluster, and until then nobody can tell whether it would go"
        case "OK" | "WAITS":
            outlook = found.outlook
            if outlook is None or not outlook.now.goes:
                return f"would be {found.why.outcome}d together with others (MultiNodeConsolidation)"
            return verdict_text(outlook.now)
        case _:
            refusal = refusal_text(found.outlook.now) if found.outlook is not None else ""
            return refusal or next((text for sample, text in MEANINGS.items() if sample.split(" ")[0] == code), "")


def _held_by_budgets(blockers: Sequence[Blocker]) -> str:
    """Return pods with their PodDisruptionBudgets: each with its own, where they differ."""
    if len({one.value for one in blockers}) == 1:
        return f"{names_of(blockers)} held by {' + '.join(blockers[0].value.split())}"
    of_pod = dict.fromkeys((one.object_key, _without_namespace(one)) for one in blockers)
    return first_of([f"{pod} held by {budgets}" for pod, budgets in of_pod], NAMED)


def _without_namespace(blocker: Blocker) -> str:
    """Return the PodDisruptionBudgets of a pod, which are in its namespace."""
    return " + ".join(key.partition("/")[2] or key for key in blocker.value.split())


def names_of(blockers: Sequence[Blocker]) -> str:
    """Return the objects of blockers, the first by name."""
    return first_of(list(dict.fromkeys(one.object_key for one in blockers)), NAMED)


def time_text(blockers: Sequence[Blocker], now_ns: int) -> str:
    """Return since when blockers stand in the way and until when."""
    since = min((one.since_ns for one in blockers if one.since_ns), default=None)
    ends = [one.until_ns for one in blockers]
    until = None if None in ends or not ends else max(end for end in ends if end is not None)
    began = f"since {age_text(since, now_ns)}" if since else "since when is not known"
    if until is None:
        return f"{began}, no time limit"
    left = (until - now_ns) // NS_PER_SECOND
    return f"{began}, {duration_text(left)} left" if left > 0 else f"{began}, time is up"


def drain_text(found: NodeFindings, now_ns: int, *, names_blockers: bool = True) -> str:
    """Return how far the end of a node has come, what it waits for and when it is over.

    Args:
        found: What is known of the node.
        now_ns: The instant.
        names_blockers: Whether pods are named that are among the blockers of the node too.
    """
    drain = found.drain
    if drain is None:
        return "on its way out"
    is_begun = drain.stage is not DrainStage.DELETING
    parts = [str(drain.stage).lower()]
    if not is_begun and drain.since_ns:
        parts[0] += f" for {age_text(drain.since_ns, now_ns)}"
    if drain.initiator is not None:
        parts[0] += f" ({drain.initiator})"
    if not is_begun:
        parts.append("its drain has not begun")
    named = set() if names_blockers else {one.object_key for one in found.blockers}
    holders = [one for one in drain.holders if str(one.hold) != "evicted now"]
    if holders and all(one.pod.key in named for one in holders):
        pass
    elif holders:
        names = first_of([f"{one.pod.key} ({one.hold})" for one in holders], NAMED)
        parts.append(f"waits for {names}")
    elif drain.waiting and drain.stage is DrainStage.DRAINING:
        being = "pod that is" if len(drain.waiting) == 1 else "pods that are"
        parts.append(f"waits for {count_text(len(drain.waiting))} {being} being evicted")
    if drain.latest_end_ns is not None:
        left = (drain.latest_end_ns - now_ns) // NS_PER_SECOND
        parts.append(f"over by force in {duration_text(left)}" if left > 0 else "its deadline has passed")
    elif drain.bound_ns:
        parts.append(f"its drain will end by force after {span_text(drain.bound_ns)}")
    elif drain.has_no_end:
        parts.append("never ends by itself: no terminationGracePeriod")
    return ", ".join(parts)


_PLAIN: Final = {
    "NOT_CHEAPER": "no cheaper node would take its pods",
    "NEEDS_N_NODES": "its pods would need {nodes}, and Karpenter replaces a node by one at most",
    "SPOT_TO_SPOT_OFF": "spot is replaced by spot only with the feature gate SpotToSpotConsolidation, which is off",
    "SPOT_FLEXIBILITY": "Karpenter requires 15 cheaper types to replace spot by spot, and {count} are cheaper",
}
"""Refusals in plain words, by Karpenter's reason."""


def refusal_parts(verdict: Verdict) -> tuple[str, str]:
    """Return why a node stays in plain words, and what Karpenter says of it beside them; empty where it goes."""
    said = verdict.refusal_message
    plain = _PLAIN.get(str(verdict.refusal_code), "") if said else ""
    if verdict.no_place is not None:
        words = clean(no_place_text(verdict.no_place))
        return words, f"Karpenter: {said if len(said) <= QUOTED else said[: QUOTED - 1] + '…'}"
    if plain and verdict.others_need is not None:
        return clean(_with_others(verdict, verdict.others_need)), ""
    if plain:
        return plain.format(count=count_text(verdict.count), nodes=counted(verdict.count, "new node")), ""
    return said, ""


def _with_others(verdict: Verdict, need: OthersNeed) -> str:
    """Return why a node stays where pods that are not on it need new nodes in the same simulation.

    Karpenter looks for a place for all of them at once, and weighs every new node against the one that would go.
    """
    is_one = not need.others
    who = need.pod_key if is_one else f"{need.pod_key} and {counted(need.others, 'more pod')}"
    being = verb(need.others + 1, "waits", "wait") if need.is_waiting else verb(need.others + 1, "leaves", "leave")
    which = f"{who}, which {being}{'' if need.is_waiting else ' other nodes'}"
    code = str(verdict.refusal_code)
    plain = _PLAIN[code].format(count=count_text(verdict.count), nodes=counted(verdict.count, "new node"))
    if code == "NEEDS_N_NODES" and not need.is_only:
        return f"{plain}; {counted(need.nodes, 'node')} of these {verb(need.nodes, 'is', 'are')} for {which}"
    if not need.is_only:
        return f"{plain}, together with {which}"
    needs = verb(need.others + 1, "needs", "need")
    nodes = "a new node" if verdict.count < 2 or code != "NEEDS_N_NODES" else counted(verdict.count, "new node")
    first = f"its pods fit elsewhere, but {which}, {needs} {nodes} in the same simulation"
    if code == "NOT_CHEAPER":
        price = "" if need.price_per_hour is None else f" at {node_price_text(need.price_per_hour)}/h"
        return f"{first}, and {need.type_name or 'that'}{price} is not cheaper than this one"
    if code == "NEEDS_N_NODES":
        return f"{first}, and Karpenter replaces a node by one at most"
    return f"{first}: {plain}"


def refusal_text(verdict: Verdict) -> str:
    """Return why a node stays: in plain words where something is short, then in Karpenter's; empty where it goes."""
    return " · ".join(filter(None, refusal_parts(verdict)))


def verdict_text(verdict: Verdict, *, would: bool = True) -> str:
    """Return what becomes of a node in words."""
    if not verdict.goes:
        return refusal_text(verdict) or ("not known" if verdict.outcome == "unknown" else "stays")
    saves = _saves(verdict)
    if verdict.outcome == "delete":
        how = "it is empty" if verdict.method == "Emptiness" else _moved_text(verdict)
        return f"{'would be deleted' if would else 'delete'}: {how}{saves}" if verdict.method else "delete"
    if verdict.is_first:
        how = f"{'would be deleted' if would else 'delete'} before a replacement can exist (terminate-first)"
        return "; ".join((how, *_aside(verdict)))
    made = verdict.replacements[0] if verdict.replacements else None
    kinds = "" if made is None or not made.type_names else f" by {made.type_names[0]}"
    more = 0 if made is None else len(made.type_names) - 1
    others = f" or {counted(more, 'other type')}" if more > 0 else ""
    return "; ".join((f"{'would be replaced' if would else 'replace'}{kinds}{others}{saves}", *_aside(verdict)))


def _saves(verdict: Verdict) -> str:
    """Return what goes on about the dollars; empty where there are none, or nobody can say."""
    is_said = verdict.is_saving_known and verdict.savings_per_hour
    return f", {saved_text(verdict.savings_per_hour)}" if is_said else ""


def _moved_text(verdict: Verdict) -> str:
    """Return what happens to the pods of a node that is deleted."""
    if not verdict.kept and not verdict.lost:
        return "the pods fit elsewhere" if verdict.moved else "no pod on it needs a place"
    fit = verdict.moved - verdict.lost
    moved = (f"{counted(fit, 'pod')} {verb(fit, 'fits', 'fit')} elsewhere",) if fit > 0 else ()
    return ", ".join((*moved, *_aside(verdict)))


def _aside(verdict: Verdict) -> Iterator[str]:
    """Yield how many pods are lost, and how many get no place because they may not be evicted yet."""
    if verdict.lost:
        yield f"{counted(verdict.lost, 'pod')} {verb(verdict.lost, 'is', 'are')} lost (no owner)"
    if verdict.kept:
        yield _kept_text(verdict)


def _kept_text(verdict: Verdict) -> str:
    """Return for how many pods that may not be evicted now Karpenter seeks no place."""
    return f"no place is sought for {counted(verdict.kept, 'pod')} that may not be evicted yet"


def _without(found: NodeFindings) -> list[tuple[str, Tone]]:
    outlook = found.outlook
    if not found.blockers or str(found.why.code) in ("OK", "WAITS", "DRAIN", "DELETING"):
        return []
    if outlook is None:
        return [("would go without: simulating…", Tone.ACTIVE)]
    if not found.why.method:
        then = outlook.lifted
        return [(f"once that is over: {then.outcome} (simulated)", Tone.NORMAL)] if then.goes and _ends(found) else []
    freed = found.freed or outlook.freed
    codes = [code for code in codes_shown_as(found.why.code) if any(one.code is code for one in found.blockers)]
    if not codes:
        return []
    alone = outlook.without_code.get(codes[0], freed.outcome) if len(codes) == 1 else freed.outcome
    if alone in ("delete", "replace"):
        return [(f"would go without: {alone}{_saves(freed)} (simulated)", Tone.STRONG)]
    if freed.goes and not any(one.is_wanted and one.code not in codes for one in found.blockers):
        return [(f"would go without, once Karpenter goes on: {freed.outcome} (simulated)", Tone.NORMAL)]
    if freed.goes:
        return [(f"would go only without all of them: {freed.outcome} (simulated)", Tone.NORMAL)]
    reason = refusal_text(freed)
    words = f"would stay anyway (simulated){f': {reason}' if reason else ''}"
    return [("what would follow is not known" if alone == "unknown" else words, Tone.MUTED)]


def _ends(found: NodeFindings) -> bool:
    """Whether everything in the way of a node ends by itself."""
    return all(one.is_passing for one in found.blockers)


def _also(found: NodeFindings) -> list[tuple[str, Tone]]:
    others = [str(code) for code in found.why.codes[1:]]
    return [(f"also {' '.join(others)}", Tone.NORMAL)] if others else []


def _arrivals(found: NodeFindings) -> list[tuple[str, Tone]]:
    if not found.recent_pods or str(found.why.code) not in ("DND", "NODE-DND", "PDB", "DRAIN"):
        return []
    return [(f"still receives pods: {count_text(found.recent_pods)} in the last hour", Tone.WARNING)]
