"""What all nodes together hold, for the top bar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from karptui.views.nodes.entry import NodeEntry, PodAccess
from karptui.views.row import Tone
from karptui.views.shares import Share
from karptui.views.top_bar import Fact
from karptui.views.units import count_text, counted, cpu_pair_text, memory_pair_text, percent_text


def _pods(pod_count: int, hidden: frozenset[str]) -> tuple[Fact, ...]:
    """Return how many pods there are, where they may be listed."""
    if "Pod" in hidden:
        return (Fact("pods !rbac", "pods !rbac", Tone.WARNING),)
    text = counted(pod_count, "pod")
    return (Fact(text, text),) if pod_count else ()


def total_share(shares: Iterable[Share]) -> Share:
    """Return the sum of shares of one resource."""
    daemons = workload = capacity = 0
    for share in shares:
        daemons += share.daemons
        workload += share.workload
        capacity += share.capacity
    return Share(daemons, workload, capacity)


def cluster_facts(
    entries: Sequence[NodeEntry],
    pod_count: int,
    cost: Fact | None = None,
    held: Fact | None = None,
    hidden: frozenset[str] = frozenset(),
) -> tuple[Fact, ...]:
    """Return the figures of the top bar: nodes, pods, and how full they are.

    Args:
        entries: every node and claim.
        pod_count: pods there are, bound or not.
        cost: what the nodes cost, None where prices are off.
        held: what is spent on nodes that something keeps, None where that is not known.
        hidden: kinds that may not be listed.
    """
    if "Node" in hidden:
        return (
            Fact("nodes !rbac", "nodes !rbac", Tone.WARNING),
            *((Fact(counted(len(entries), "NodeClaim"), counted(len(entries), "claim")),) if entries else ()),
            *((cost,) if cost is not None and entries else ()),
            *_pods(pod_count, hidden),
        )
    nodes = [entry for entry in entries if entry.node is not None]
    starting = len(entries) - len(nodes)
    facts = [Fact(counted(len(nodes), "node"), counted(len(nodes), "node"), Tone.STRONG)]
    if starting:
        facts.append(Fact(f"+{count_text(starting)} starting", f"+{count_text(starting)}", Tone.ACTIVE))
    if cost is not None:
        facts.append(cost)
    if held is not None:
        facts.append(held)
    access = nodes[0].access if nodes else PodAccess.PENDING
    if access is PodAccess.FORBIDDEN:
        return (*facts, Fact("pods !rbac", "pods !rbac", Tone.WARNING))
    if access is PodAccess.PENDING:
        return tuple(facts)
    return (*facts, Fact(counted(pod_count, "pod"), counted(pod_count, "pod")), *_fullness(nodes))


def _fullness(nodes: Sequence[NodeEntry]) -> tuple[Fact, ...]:
    """Return what pods ask of all nodes together."""
    cpu = total_share(entry.cpu for entry in nodes)
    memory = total_share(entry.memory for entry in nodes)
    slots = total_share(entry.pods for entry in nodes)
    cpu_percent = percent_text(cpu.requested, cpu.capacity)
    memory_percent = percent_text(memory.requested, memory.capacity)
    slots_percent = percent_text(slots.requested, slots.capacity)
    return (
        Fact(f"cpu {cpu_percent} {cpu_pair_text(cpu.requested, cpu.capacity)}", f"cpu {cpu_percent}"),
        Fact(f"mem {memory_percent} {memory_pair_text(memory.requested, memory.capacity)}", f"mem {memory_percent}"),
        Fact(f"slots {slots_percent}", f"slots {slots_percent}"),
    )
