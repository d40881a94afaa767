"""Why a node is still here: WHY codes with severity and meaning, and texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from karptui.aws.money import node_price_text, per_month_text, saved_text, sum_text
from karptui.disruption.codes import CODES, codes_shown_as
from karptui.disruption.no_place import no_place_text
from karptui.karpenter.nodeclaim import DrainStage
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import NA, age_text, count_text, counted, duration_text, first_of, span_text, verb
from karptui.session.costs import Held
from karptui.session.nodes import NodeEntry
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.top_bar import Fact
from karptui.views.why.labels import LABELS, bare_label, why_label

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeFindings
    from karptui.disruption.codes import Blocker
    from karptui.disruption.node_verdict import Verdict
    from karptui.disruption.simulation import OthersNeed
    from karptui.session.nodes import NodeEntry


def held_text(held: Held, *, unit: str = "/h", is_short: bool = False) -> str:
    """Return ``$4.12/h``: ``up to`` for an upper bound, a plus if nodes are missing, ``…`` if nothing is known yet."""
    if held.waiting and not held.nodes:
        return "…"
    if held.nodes and held.nodes == held.unpriced:
        return NA
    more = "+" if held.waiting or held.unpriced else ""
    bound = ("≤" if is_short else "up to ") if held.is_upper_bound and held.per_hour else ""
    if is_short:
        return f"{bound}{held.per_hour:,.2f}{more}"
    return f"{bound}{sum_text(held.per_hour, held.currency)}{unit}{more}"


def held_title(rows: Held, total: Held | None) -> str:
    """Return the joint held cost of rows for their title, and the top bar's sum if it differs.

    Args:
        total: The sum in the top bar, which updates slowly; None if rows are hidden.
    """
    text, before = held_text(rows), held_text(total) if total is not None else "…"
    title = f"{text} held" if text != "…" else "held …"
    if before in (text, "…"):
        more = "+" if text.endswith("+") else ""
        bound = "up to " if text.startswith("up to") else ""
        return f"{title} ({bound}{per_month_text(rows.per_hour, rows.currency)}{more})" if text != "…" else title
    return f"{title} now ({before} before)"


def held_fact(held: Held, *, is_steady: bool = True) -> Fact:
    """Return ``held $4.12/h (in 7m)`` for the top bar, dim until complete; the time is left out if space is short."""
    text = f"held {held_text(held)}"
    time = f" (in {duration_text(held.seconds)})" if held.seconds is not None and held.per_hour else ""
    return Fact(f"{text}{time}", text, Tone.WARNING if held.per_hour and not held.waiting and is_steady else Tone.MUTED)


NAMED: Final = 2
"""Maximum number of objects named."""
QUOTED: Final = 300
"""Maximum length of Karpenter's quoted messages, which may name every NodePool with its requirements."""
_BETWEEN: Final = (" · ", Tone.MUTED)


def why_sentence(entry: NodeEntry, now_ns: int) -> Pieces:
    """Return the meaning of a node's WHY code; empty until computed."""
    findings = entry.findings
    if findings is None or entry.claim is None:
        return ()
    why = findings.why
    pieces: list[tuple[str, Tone]] = [(why_label(why, now_ns), LABELS[why.code].tone), ("  ", Tone.NORMAL)]
    pieces.append((f"{_wanting(findings)}{_fact(findings, now_ns)}", Tone.NORMAL))
    for part in (*_wanted_by(findings), *_without(findings), *_also(findings), *_arrivals(findings)):
        pieces += [_BETWEEN, part]
    return tuple(pieces)


_LACKED: Final = ("AFTER", "NEVER", "POLICY", "BUFFER", "STATIC", "NO-TYPE", "NO-LABEL")
_LANES: Final = {"MultiNodeConsolidation": "consolidation", "SingleNodeConsolidation": "consolidation"}


def _wanting(findings: NodeFindings) -> str:
    """Return that no method wants the node, or which takes it once disruption resumes; else nothing."""
    code = str(findings.why.code)
    if code == "WAITS" and findings.why.outcome is None:
        return f"{_method_words(findings.why.method)} wants it, "
    if code == "WAITS":
        return f"{_method_words(findings.why.method)} removes it once disruption resumes; it "
    return "no method wants it: " if not findings.why.method and code in _LACKED else ""


def _wanted_by(findings: NodeFindings) -> list[tuple[str, Tone]]:
    """Return the method that wants the node, if it is blocked and not for consolidation."""
    is_plain = str(findings.why.code) in ("OK", "WAITS") or findings.why.method in ("", *_LANES)
    return [] if is_plain else [(f"wanted by {findings.why.method}", Tone.NORMAL)]


def _method_words(method: str) -> str:
    return _LANES.get(method, method)


def _fact(findings: NodeFindings, now_ns: int) -> str:
    code = str(findings.why.code)
    blockers = [blocker for blocker in findings.blockers if CODES[blocker.code].why is findings.why.code]
    if findings.why.method:
        blockers = [blocker for blocker in blockers if findings.why.method in blocker.blocks] or blockers
    match code:
        case "DND":
            has = "have" if len(blockers) > 1 else "has"
            return f"{names_of(blockers)} {has} do-not-disrupt ({time_text(blockers, now_ns)})"
        case "PDB":
            return f"{_held_by_budgets(blockers)} ({time_text(blockers, now_ns)})"
        case "NODE-DND":
            return "the node itself has do-not-disrupt, without a time limit"
        case "BUDGET" | "NEVER" | "POLICY" | "NO-POOL" | "NO-TYPES" | "NO-TYPE" | "NO-LABEL" | "AFTER" | "REPAIR":
            return next((blocker.message for blocker in blockers), "")
        case "DRAIN" | "DELETING":
            return drain_text(findings, now_ns)
        case "WAITS" if findings.why.outcome is None:
            return "but disruption is blocked in the whole cluster; the outcome is known once it resumes"
        case "OK" | "WAITS":
            outlook = findings.outlook
            if outlook is None or not outlook.now.goes:
                return f"would be {findings.why.outcome}d together with others (MultiNodeConsolidation)"
            return verdict_text(outlook.now)
        case _:
            refusal = refusal_text(findings.outlook.now) if findings.outlook is not None else ""
            return refusal or LABELS[findings.why.code].meaning


def _held_by_budgets(blockers: Sequence[Blocker]) -> str:
    """Return pods with their PodDisruptionBudgets, listed separately if they differ."""
    if len({blocker.value for blocker in blockers}) == 1:
        return f"{names_of(blockers)} blocked by {' + '.join(blockers[0].value.split())}"
    of_pod = dict.fromkeys((blocker.object_key, _without_namespace(blocker)) for blocker in blockers)
    return first_of([f"{pod} blocked by {budgets}" for pod, budgets in of_pod], NAMED)


def _without_namespace(blocker: Blocker) -> str:
    """Return the PodDisruptionBudgets of a pod, which are in its namespace."""
    return " + ".join(key.partition("/")[2] or key for key in blocker.value.split())


def names_of(blockers: Sequence[Blocker]) -> str:
    """Return the objects of blockers, the first by name."""
    return first_of(list(dict.fromkeys(blocker.object_key for blocker in blockers)), NAMED)


def time_text(blockers: Sequence[Blocker], now_ns: int) -> str:
    """Return the start and end of blockers."""
    since = min((blocker.since_ns for blocker in blockers if blocker.since_ns), default=None)
    ends = [blocker.until_ns for blocker in blockers]
    until = None if None in ends or not ends else max(end for end in ends if end is not None)
    began = f"for {age_text(since, now_ns)}" if since else "start unknown"
    if until is None:
        return f"{began}, no end set"
    left = (until - now_ns) // NS_PER_SECOND
    return f"{began}, {duration_text(left)} left" if left > 0 else f"{began}, time is up"


def pause_text(claims: Sequence[str]) -> str:
    """Return ``blocked until NodeClaim general-x has a provider ID``."""
    whose, has = ("NodeClaim", "has") if len(claims) == 1 else ("NodeClaims", "have")
    return f"blocked until {whose} {first_of([clean(name) for name in claims], 3)} {has} a provider ID"


def drain_text(findings: NodeFindings, now_ns: int, *, names_blockers: bool = True) -> str:
    """Return the stage of a node's removal, its blockers, and the deadline."""
    drain = findings.drain
    if drain is None:
        return "being removed"
    is_begun = drain.stage is not DrainStage.DELETING
    parts = [str(drain.stage).lower()]
    if not is_begun and drain.since_ns:
        parts[0] += f" for {age_text(drain.since_ns, now_ns)}"
    if drain.initiator is not None:
        parts[0] += f" ({drain.initiator})"
    if not is_begun:
        parts.append("its drain has not begun")
    named = set() if names_blockers else {blocker.object_key for blocker in findings.blockers}
    holders = [holder for holder in drain.holders if str(holder.hold) != "evicted now"]
    if holders and all(holder.pod.key in named for holder in holders):
        pass
    elif holders:
        names = first_of([f"{holder.pod.key} ({holder.hold})" for holder in holders], NAMED)
        parts.append(f"waiting for {names}")
    elif drain.waiting and drain.stage is DrainStage.DRAINING:
        being = "pod that is" if len(drain.waiting) == 1 else "pods that are"
        evicted = "not evicted yet" if drain.is_long(now_ns) else "being evicted"
        parts.append(f"waiting for {count_text(len(drain.waiting))} {being} {evicted}")
    if drain.latest_end_ns is not None:
        left = (drain.latest_end_ns - now_ns) // NS_PER_SECOND
        parts.append(f"forced to end in {duration_text(left)}" if left > 0 else "its deadline has passed")
    elif drain.bound_ns:
        parts.append(f"its drain is forced to end after {span_text(drain.bound_ns)}")
    elif drain.has_no_end:
        parts.append("no time limit: no terminationGracePeriod")
    return ", ".join(parts)


_PLAIN: Final = {
    "NOT_CHEAPER": "its pods fit no cheaper node",
    "NEEDS_N_NODES": "its pods would need {nodes}, and Karpenter replaces a node with at most one",
    "SPOT_TO_SPOT_OFF": "spot replaces spot only with the feature gate SpotToSpotConsolidation, which is {gate}",
    "SPOT_FLEXIBILITY": "Karpenter requires 15 cheaper types to replace spot with spot, and {count} are cheaper",
}
"""Refusals in plain words, by Karpenter's reason."""


def refusal_parts(verdict: Verdict) -> tuple[str, str]:
    """Return the reason why a node stays, plainly and in Karpenter's words; empty if it is removed."""
    message = verdict.refusal_message
    plain = _plain(verdict) if message else ""
    if verdict.no_place is not None:
        words = clean(no_place_text(verdict.no_place))
        return words, f"Karpenter: {message if len(message) <= QUOTED else message[: QUOTED - 1] + '…'}"
    if plain and verdict.others_need is not None:
        return clean(_with_others(verdict, verdict.others_need)), ""
    if plain:
        return plain, ""
    return message, ""


def _plain(verdict: Verdict) -> str:
    gate = "off by default and was not read" if verdict.is_assumed else "off"
    plain = _PLAIN.get(str(verdict.refusal_code), "")
    return plain.format(count=count_text(verdict.count), nodes=counted(verdict.count, "new node"), gate=gate)


def _with_others(verdict: Verdict, need: OthersNeed) -> str:
    """Return the reason why a node stays if pods from elsewhere need new nodes in the same simulation.

    Karpenter places all of them at once, and compares every new node with the removed one.
    """
    is_one = not need.others
    who = need.pod_key if is_one else f"{need.pod_key} and {counted(need.others, 'more pod')}"
    being = (
        verb(need.others + 1, "is pending", "are pending")
        if need.is_waiting
        else verb(need.others + 1, "leaves", "leave")
    )
    which = f"{who}, which {being}{'' if need.is_waiting else ' other nodes'}"
    code = str(verdict.refusal_code)
    plain = _plain(verdict)
    if code == "NEEDS_N_NODES" and not need.is_only:
        alone = f"; {count_text(need.nodes)} of these {verb(need.nodes, 'takes', 'take')} none of its pods"
        whose = f"its pods{' and' if is_one else ','} {which},"
        return f"{whose}{plain.removeprefix('its pods')}{alone if need.nodes else ''}"
    if not need.is_only:
        return f"{plain}, together with {which}"
    needs = verb(need.others + 1, "needs", "need")
    nodes = "a new node" if verdict.count < 2 or code != "NEEDS_N_NODES" else counted(verdict.count, "new node")
    first = f"its pods fit elsewhere, but {which}, {needs} {nodes} in the same simulation"
    if code == "NOT_CHEAPER":
        price = "" if need.price_per_hour is None else f" at {node_price_text(need.price_per_hour)}/h"
        return f"{first}, and {need.type_name or 'that'}{price} is not cheaper than this one"
    if code == "NEEDS_N_NODES":
        return f"{first}, and Karpenter replaces a node with at most one"
    return f"{first}: {plain}"


def refusal_text(verdict: Verdict) -> str:
    """Return the reason why a node stays: shortages plainly, then Karpenter's words; empty if it is removed."""
    return " · ".join(filter(None, refusal_parts(verdict)))


def verdict_text(verdict: Verdict, *, would: bool = True) -> str:
    """Return the outcome for a node as text."""
    if not verdict.goes:
        return refusal_text(verdict) or ("not known" if verdict.outcome == "unknown" else "stays")
    saves = _saves(verdict)
    if verdict.outcome == "delete":
        how = "it is empty" if verdict.method == "Emptiness" else _moved_text(verdict)
        return f"{'would be deleted' if would else 'delete'}: {how}{saves}" if verdict.method else "delete"
    if verdict.is_first:
        how = f"{'would be deleted' if would else 'delete'} before a replacement can exist (terminate-first)"
        return "; ".join((how, *_aside(verdict)))
    replacement = verdict.replacements[0] if verdict.replacements else None
    kinds = "" if replacement is None or not replacement.type_names else f" by {replacement.type_names[0]}"
    more = 0 if replacement is None else len(replacement.type_names) - 1
    others = f" or {counted(more, 'other type')}" if more > 0 else ""
    return "; ".join((f"{'would be replaced' if would else 'replace'}{kinds}{others}{saves}", *_aside(verdict)))


def _saves(verdict: Verdict) -> str:
    """Return the savings as a further clause; empty if unknown or zero."""
    is_said = verdict.is_saving_known and verdict.savings_per_hour
    return f", {saved_text(verdict.savings_per_hour)}" if is_said else ""


def _moved_text(verdict: Verdict) -> str:
    if not verdict.kept and not verdict.lost:
        return "the pods fit elsewhere" if verdict.moved else "no pod on it has to move"
    fit = verdict.moved - verdict.lost
    moved = (f"{counted(fit, 'pod')} {verb(fit, 'fits', 'fit')} elsewhere",) if fit > 0 else ()
    return ", ".join((*moved, *_aside(verdict)))


def _aside(verdict: Verdict) -> Iterator[str]:
    """Yield the number of lost pods, and of pods that cannot be placed because they may not be evicted yet."""
    if verdict.lost:
        yield f"{counted(verdict.lost, 'pod')} {verb(verdict.lost, 'is', 'are')} lost (no owner)"
    if verdict.kept:
        yield f"Karpenter does not place {counted(verdict.kept, 'pod')} that may not be evicted yet"


def _without(findings: NodeFindings) -> list[tuple[str, Tone]]:
    outlook = findings.outlook
    if not findings.blockers or str(findings.why.code) in ("OK", "WAITS", "DRAIN", "DELETING", "…"):
        return []
    if outlook is None:
        return [("removable once unblocked? simulating…", Tone.ACTIVE)]
    if not findings.why.method:
        then = outlook.lifted
        return (
            [(f"once that is over: {then.outcome} (simulated)", Tone.NORMAL)]
            if then.goes and all(blocker.is_passing for blocker in findings.blockers)
            else []
        )
    freed = findings.freed or outlook.freed
    codes = [code for code in codes_shown_as(findings.why.code) if any(b.code is code for b in findings.blockers)]
    if not codes:
        return []
    alone = outlook.without_code.get(codes[0], freed.outcome) if len(codes) == 1 else freed.outcome
    if alone in ("delete", "replace"):
        return [(f"removable once unblocked: {alone}{_saves(freed)} (simulated)", Tone.STRONG)]
    if freed.goes and not any(blocker.is_wanted and blocker.code not in codes for blocker in findings.blockers):
        return [(f"removable once disruption resumes: {freed.outcome} (simulated)", Tone.NORMAL)]
    if freed.goes:
        return [(f"removable only if all are lifted: {freed.outcome} (simulated)", Tone.NORMAL)]
    reason = refusal_text(freed)
    words = f"would stay anyway (simulated){f': {reason}' if reason else ''}"
    return [("the outcome is unknown" if alone == "unknown" else words, Tone.MUTED)]


def _also(findings: NodeFindings) -> list[tuple[str, Tone]]:
    others = [bare_label(code) for code in findings.why.codes[1:]]
    return [(f"also {', '.join(others)}", Tone.NORMAL)] if others else []


def _arrivals(findings: NodeFindings) -> list[tuple[str, Tone]]:
    if not findings.recent_pods or str(findings.why.code) not in ("DND", "NODE-DND", "PDB", "DRAIN"):
        return []
    return [(f"still receives pods: {count_text(findings.recent_pods)} in the last hour", Tone.WARNING)]
