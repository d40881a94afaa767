"""What a held node counts by: the answer that has stood for a while, so that sums and orders stand still.

Pods of a rollout take room for seconds, and a removal that found none says otherwise until they have gone.
"""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.disruption.analysis import NodeFindings, NodeOutlook
from karptui.kube.timestamps import NS_PER_SECOND

SETTLES_NS: Final = 15 * NS_PER_SECOND
"""For so long another answer has to stand before it counts."""


def taken_over(found: NodeFindings, known: NodeFindings | None) -> NodeFindings:
    """Return findings that count by what was known before, until their node is simulated again.

    Args:
        found: What is known now.
        known: What was known before; of a node that nothing held it tells nothing.
    """
    if known is None or not (known.is_held and found.is_held):
        return found
    if found.outlook is not None and not known.otherwise_ns and not known.is_early:
        return found
    return msgspec.structs.replace(
        found, freed_before=known.freed, otherwise_ns=known.otherwise_ns, is_early=known.is_early
    )


def simulated(known: NodeFindings, outlook: NodeOutlook, now_ns: int) -> NodeFindings:
    """Return findings with a simulation, whose answer for a held node counts once it has stood for a while.

    Args:
        known: What was known before.
        outlook: What the simulation came to.
        now_ns: The instant.
    """
    if known.is_early:
        return msgspec.structs.replace(known, outlook=outlook)
    stood = known.freed
    is_alike = not known.is_held or stood is None or stood == outlook.freed
    since_ns = 0 if is_alike else known.otherwise_ns or now_ns
    if is_alike or now_ns - since_ns >= SETTLES_NS:
        return msgspec.structs.replace(known, outlook=outlook, freed_before=None, otherwise_ns=0)
    if known.outlook is not None:
        outlook = msgspec.structs.replace(known.outlook, now=outlook.now)
    return msgspec.structs.replace(known, outlook=outlook, freed_before=stood, otherwise_ns=since_ns)


def early(found: NodeFindings) -> NodeFindings:
    """Return findings that count by what was known before until all held nodes have been simulated."""
    if found.is_early and not found.otherwise_ns:
        return found
    return msgspec.structs.replace(found, is_early=True, freed_before=found.freed, otherwise_ns=0)


def counted(found: NodeFindings) -> NodeFindings:
    """Return findings that count by their simulation from now on."""
    return msgspec.structs.replace(found, is_early=False, freed_before=None, otherwise_ns=0)


def is_due(found: NodeFindings, now_ns: int) -> bool:
    """Return whether another answer has stood for long enough to count, should it be that of now."""
    return bool(found.otherwise_ns) and now_ns - found.otherwise_ns >= SETTLES_NS
