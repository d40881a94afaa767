"""The nodes that exist, and why none of them takes a pod; folded by reason."""

from __future__ import annotations

from collections import Counter

from karptui.kube.units import count_text
from karptui.provisioning import Gate, NodeRefusal, PodExplanation
from karptui.views.pending.misses import gate_word
from karptui.views.sanitize import clean


def refusal_word(refusal: NodeRefusal) -> str:
    """Return the reason of one node in a word: ``memory``, ``taint``, ``label``."""
    if refusal.gate is not Gate.ROOM:
        return gate_word(refusal.gate)
    short = [part.partition(" ")[0] for part in refusal.reason.split(", ") if " asked" in part]
    return clean(" and ".join(short)) or "room"


def refusal_counts(explanation: PodExplanation) -> tuple[tuple[str, int], ...]:
    """Return how many nodes each reason rules out, the most frequent first."""
    counts = Counter(map(refusal_word, explanation.nodes))
    return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def refusals_text(explanation: PodExplanation) -> str:
    """Return the nodes in a line: ``62 tried: 41 memory · 12 taint · 9 label``."""
    total = len(explanation.nodes)
    if not total:
        return "none to try"
    parts = " · ".join(f"{count_text(count)} {word}" for word, count in refusal_counts(explanation))
    return f"{count_text(total)} tried: {parts}"
