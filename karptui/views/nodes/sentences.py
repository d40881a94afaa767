"""Texts about a node, and the figures of all nodes in the top bar."""

from __future__ import annotations

from karptui.disruption.codes import WhyCode
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube import resources
from karptui.kube.units import (
    age_text,
    count_text,
    counted,
    cpu_pair_text,
    cpu_text,
    memory_pair_text,
    memory_text,
    percent_text,
)
from karptui.session.costs import ClusterTotals
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.views.nodes.resources import delta_text
from karptui.views.nodes.status import node_status
from karptui.views.prices import cost_fact, price_sentence
from karptui.views.row import Pieces, Tone
from karptui.views.top_bar import Fact
from karptui.views.why.sentences import held_fact, why_sentence

_BETWEEN = (" · ", Tone.MUTED)


def explain_node(entry: NodeEntry, now_ns: int, *, has_prices: bool = True) -> Pieces:
    """Return the line about a node or NodeClaim, most important part first."""
    pieces = list(node_reason(entry, now_ns))
    for detail in node_details(entry, has_prices=has_prices):
        pieces += [_BETWEEN, detail]
    return tuple(pieces)


def node_reason(entry: NodeEntry, now_ns: int) -> Pieces:
    """Return the state of a node or claim, and why it is still here."""
    status = node_status(entry)
    since = f" for {age_text(status.since_ns, now_ns)}" if status.since_ns else ""
    word = status.word + since
    why = why_sentence(entry, now_ns)
    if why and _is_all_said_by_why(entry):
        return why
    pieces: list[tuple[str, Tone]] = [(word, status.tone)]
    if status.word not in ("Ready", "Cordoned"):
        pieces.append((f": {status.sentence}", Tone.NORMAL))
    elif status.word == "Cordoned":
        pieces.append((": no new pods are scheduled to it", Tone.NORMAL))
    if entry.claim is None and not entry.is_managed:
        pieces += [_BETWEEN, ("Karpenter does not manage it", Tone.NORMAL)]
    return (*pieces, _BETWEEN, *why) if why else tuple(pieces)


def node_details(entry: NodeEntry, *, has_prices: bool = True) -> Pieces:
    """Return further details of a node or NodeClaim, one per piece."""
    if _is_all_said_by_why(entry):
        return ()
    costs = [(price_sentence(entry), Tone.MUTED)] if has_prices and entry.instance_type else []
    return (*_unread(entry), *_claim_facts(entry), *costs)


def _is_all_said_by_why(entry: NodeEntry) -> bool:
    """Return whether WHY already contains the node's state."""
    if entry.findings is None or entry.claim is None:
        return False
    word = node_status(entry).word
    return word in ("Ready", "Draining") or (word == "Deleting" and entry.findings.why.code is WhyCode.DELETING)


def _unread(entry: NodeEntry) -> list[tuple[str, Tone]]:
    if entry.node is None or not entry.cpu.capacity:
        return []
    if entry.access is PodAccess.FORBIDDEN:
        return [("pods may not be listed, so requests are unknown", Tone.WARNING)]
    if entry.access is PodAccess.PENDING:
        return [("pods are loading", Tone.ACTIVE)]
    return []


def _claim_facts(entry: NodeEntry) -> list[tuple[str, Tone]]:
    if entry.claim is None:
        return []
    if entry.node is None:
        requesting = asking_text(entry.claim)
        return [(f"launched for {requesting}", Tone.NORMAL)] if requesting else []
    delta = entry.delta
    if delta is None or min(delta.cpu_millis, delta.memory_bytes, delta.pods) >= 0:
        return []
    return [(f"has {delta_text(delta)} compared with its NodeClaim", Tone.WARNING)]


def asking_text(claim: NodeClaim) -> str:
    """Return the requests of the pods that a NodeClaim was created for, or an empty string if unknown."""
    total = claim.requests
    if not total:
        return ""
    return (
        f"pods requesting cpu {cpu_text(resources.cpu_millis(total))} mem {memory_text(resources.memory_bytes(total))}"
    )


def _pods(pod_count: int, hidden: frozenset[str]) -> tuple[Fact, ...]:
    if "Pod" in hidden:
        return (Fact("pods unread", "pods unread", Tone.WARNING),)
    text = counted(pod_count, "pod")
    return (Fact(text, text),) if pod_count else ()


def cluster_facts(totals: ClusterTotals, scope: Fact | None = None, *, is_held_steady: bool = True) -> tuple[Fact, ...]:
    """Return the figures of the top bar: nodes, pods, and how full nodes are.

    Args:
        is_held_steady: Whether the held cost is current, not the last complete sum.
        scope: Text that replaces the node count if the figures cover only some nodes.
    """
    cost = cost_fact(totals.cost) if totals.cost is not None else None
    count = totals.nodes + totals.claims
    if "Node" in totals.hidden:
        claims = Fact(counted(count, "NodeClaim"), counted(count, "claim"))
        return (
            Fact("nodes unread", "nodes unread", Tone.WARNING),
            *((scope or claims,) if count or scope else ()),
            *((cost,) if cost is not None and count else ()),
            *_pods(totals.pods, totals.hidden),
        )
    facts = [scope] if scope is not None else _counts(totals.nodes, totals.claims)
    if cost is not None:
        facts.append(cost)
    if totals.held is not None:
        facts.append(held_fact(totals.held, is_steady=is_held_steady))
    if totals.access is PodAccess.FORBIDDEN:
        return (*facts, Fact("pods unread", "pods unread", Tone.WARNING))
    if totals.access is PodAccess.PENDING:
        return tuple(facts)
    return (
        *facts,
        Fact(counted(totals.pods, "pod"), counted(totals.pods, "pod")),
        *_fullness(totals, is_exact=scope is not None),
    )


def _counts(nodes: int, starting: int) -> list[Fact]:
    facts = [Fact(counted(nodes, "node"), counted(nodes, "node"), Tone.STRONG)]
    if starting:
        facts.append(Fact(f"+{count_text(starting)} starting", f"+{count_text(starting)}", Tone.ACTIVE))
    return facts


def shown_scope(shown: ClusterTotals, every: ClusterTotals) -> Fact:
    """Return the scope of filtered nodes: ``12 of 61 nodes:``."""
    if "Node" in every.hidden:
        some, count = count_text(shown.nodes + shown.claims), every.nodes + every.claims
        words, short = f"{some} of {counted(count, 'NodeClaim')}:", f"{some}/{counted(count, 'claim')}:"
        return Fact(words, short, Tone.STRONG, is_exact=True)
    words, short = (f"{count_text(shown.nodes)}{of}{counted(every.nodes, 'node')}" for of in (" of ", "/"))
    starting = f" +{count_text(shown.claims)} starting" if shown.claims else ""
    return Fact(f"{words}{starting}:", f"{short}:", Tone.STRONG, is_exact=True)


def marked_scope(marked: ClusterTotals) -> Fact:
    """Return the scope of marked nodes: ``2 marked:``."""
    words = f"{count_text(marked.nodes + marked.claims)} marked"
    more = f", {count_text(marked.claims)} of them starting" if marked.claims else ""
    return Fact(f"{words}{more}:", f"{words}:", Tone.STRONG)


def _fullness(totals: ClusterTotals, *, is_exact: bool) -> tuple[Fact, ...]:
    """Return the requests of pods in percent of all nodes."""
    cpu, memory, slots = totals.cpu, totals.memory, totals.slots
    cpu_percent = percent_text(cpu.requested, cpu.capacity)
    memory_percent = percent_text(memory.requested, memory.capacity)
    cpu_pair = cpu_pair_text(cpu.requested, cpu.capacity)
    memory_pair = memory_pair_text(memory.requested, memory.capacity)
    slots_percent = percent_text(slots.requested, slots.capacity)
    return (
        Fact(f"cpu {cpu_percent} {cpu_pair}", f"cpu {cpu_percent}", is_exact=is_exact),
        Fact(f"mem {memory_percent} {memory_pair}", f"mem {memory_percent}", is_exact=is_exact),
        Fact(f"slots {slots_percent}", f"slots {slots_percent}"),
    )
