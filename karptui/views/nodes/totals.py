"""What all nodes together hold, or some of them, for the top bar."""

from __future__ import annotations

from karptui.kube.units import count_text, counted, cpu_pair_text, memory_pair_text, percent_text
from karptui.session.costs import ClusterTotals
from karptui.session.nodes import PodAccess
from karptui.views.prices import cost_fact
from karptui.views.row import Tone
from karptui.views.top_bar import Fact
from karptui.views.why.sentences import held_fact


def _pods(pod_count: int, hidden: frozenset[str]) -> tuple[Fact, ...]:
    """Return how many pods there are, where they may be listed."""
    if "Pod" in hidden:
        return (Fact("pods !rbac", "pods !rbac", Tone.WARNING),)
    text = counted(pod_count, "pod")
    return (Fact(text, text),) if pod_count else ()


def cluster_facts(totals: ClusterTotals, scope: Fact | None = None) -> tuple[Fact, ...]:
    """Return the figures of the top bar: nodes, pods, and how full they are.

    Args:
        totals: of every node and claim, or of some of them.
        scope: in words which nodes the figures are of, where they are not of all; it stands in place of their count.
    """
    cost = cost_fact(totals.cost) if totals.cost is not None else None
    count = totals.nodes + totals.claims
    if "Node" in totals.hidden:
        claims = Fact(counted(count, "NodeClaim"), counted(count, "claim"))
        return (
            Fact("nodes !rbac", "nodes !rbac", Tone.WARNING),
            *((scope or claims,) if count or scope else ()),
            *((cost,) if cost is not None and count else ()),
            *_pods(totals.pods, totals.hidden),
        )
    facts = [scope] if scope is not None else _counts(totals.nodes, totals.claims)
    if cost is not None:
        facts.append(cost)
    if totals.held is not None:
        facts.append(held_fact(totals.held))
    if totals.access is PodAccess.FORBIDDEN:
        return (*facts, Fact("pods !rbac", "pods !rbac", Tone.WARNING))
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
    """Return in words that figures are of the nodes a filter leaves: ``12 of 61 nodes:``.

    Args:
        shown: of the nodes and claims that are left.
        every: of all of them.
    """
    if "Node" in every.hidden:
        some, count = count_text(shown.nodes + shown.claims), every.nodes + every.claims
        words, short = f"{some} of {counted(count, 'NodeClaim')}:", f"{some}/{counted(count, 'claim')}:"
        return Fact(words, short, Tone.STRONG, is_exact=True)
    words, short = (f"{count_text(shown.nodes)}{of}{counted(every.nodes, 'node')}" for of in (" of ", "/"))
    starting = f" +{count_text(shown.claims)} starting" if shown.claims else ""
    return Fact(f"{words}{starting}:", f"{short}:", Tone.STRONG, is_exact=True)


def marked_scope(marked: ClusterTotals) -> Fact:
    """Return in words that figures are of the marked nodes: ``2 marked:``."""
    words = f"{count_text(marked.nodes + marked.claims)} marked"
    more = f", {count_text(marked.claims)} of them starting" if marked.claims else ""
    return Fact(f"{words}{more}:", f"{words}:", Tone.STRONG)


def _fullness(totals: ClusterTotals, *, is_exact: bool) -> tuple[Fact, ...]:
    """Return what pods ask of all nodes together."""
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
