"""What a pod's topology rules leave of a node or claim.

Rules: ``AddRequirements`` in ``pkg/controllers/provisioning/scheduling/topology.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Final

from karptui.karpenter.requirements import Requirement, Requirements
from karptui.provisioning.topology_group import Choice, TopologyGroup

Ruled = tuple[TopologyGroup, bool]
"""A rule that binds a pod, and whether it selects that pod."""
Left = dict[str, Requirement]
"""What rules leave of their keys."""

_MAX_TRIED: Final = 32
"""So many ways to break ties are tried; a pod that fits in none of them is said not to fit."""


def narrowed(
    rules: Sequence[Ruled], labels: Requirements, strict: Requirements
) -> tuple[Sequence[Left], Sequence[Choice], Ruled | None]:
    """Return what rules leave of their keys on a node or claim, a way for each way to break ties.

    Every rule sees the same labels; two rules on one key that choose differently leave nothing of it. Where Karpenter
    chooses among equals at random it draws anew in every attempt, so a way in which the pod fits is the likely one.

    Args:
        rules: Rules on keys other than the host name.
        labels: Of the node or claim, with what the pod asks.
        strict: What the pod asks without preferences.

    Returns:
        The ways, the first by name first, the choices that were made, and the first rule that cannot be met, if any.
    """
    choices: list[Choice] = []
    has_tie = False
    for rule in rules:
        group, is_selected = rule
        key = group.spec.key
        choice = group.choose(strict.find(key), labels.find(key), is_selected=is_selected)
        if not choice.domains:
            return (), choices, rule
        has_tie = has_tie or bool(choice.equals)
        choices.append(choice)
    if has_tie:
        return tuple(islice(_ways(rules, choices, labels), _MAX_TRIED)), choices, None
    return (_meet(rules, [choice.domains for choice in choices], labels),), choices, None


def _meet(rules: Sequence[Ruled], picks: Sequence[frozenset[str]], labels: Requirements) -> Left:
    """Return what these picks leave together, one for each rule."""
    left: Left = {}
    for (group, _), domains in zip(rules, picks, strict=True):
        key = group.spec.key
        picked = Requirement(key, False, domains)
        before = left.get(key, labels.find(key))
        left[key] = picked if before is None else before.intersect(picked)
    return left


def _ways(rules: Sequence[Ruled], choices: Sequence[Choice], labels: Requirements) -> Iterator[Left]:
    """Yield what is left for each way to break ties, those first in which rules on one key agree."""
    common: dict[str, frozenset[str]] = {}
    for (group, _), choice in zip(rules, choices, strict=True):
        key = group.spec.key
        may = frozenset(choice.equals) or choice.domains
        common[key] = common[key] & may if key in common else may
    tied = {group.spec.key for (group, _), choice in zip(rules, choices, strict=True) if choice.equals}
    options = [sorted(common[key]) if key in tied else () for key in common]
    for ways in product(*(one or (None,) for one in options)):
        agreed = {key: frozenset((way,)) for key, way in zip(common, ways, strict=True) if way is not None}
        picks = [agreed.get(group.spec.key, choice.domains) for (group, _), choice in zip(rules, choices, strict=True)]
        yield _meet(rules, picks, labels)
