"""What becomes of nodes once some of their blockers are gone: read off removals that were simulated already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karptui.disruption.analysis import NodeFindings
from karptui.disruption.blocker import Blocker
from karptui.disruption.outlook import Outcome
from karptui.whatif.blocker_remedies.remedy import Effect


def effect_of(lifted: Iterable[Blocker], findings: Mapping[str, NodeFindings], *, is_at_once: bool = True) -> Effect:
    """Return what becomes of the nodes of blockers without those blockers.

    Args:
        lifted: Blockers, as they stand in the findings.
        findings: By key, as in an analysis.
        is_at_once: Whether they are gone as soon as the remedy is applied.
    """
    by_claim: dict[str, list[Blocker]] = {}
    for blocker in lifted:
        by_claim.setdefault(blocker.claim_name, []).append(blocker)
    outcomes = [_outcome(findings.get(f"claim/{name}"), own) for name, own in by_claim.items()]
    untried = sum(outcome is None for outcome, _ in outcomes)
    return Effect(
        deleted=sum(outcome is Outcome.DELETE for outcome, _ in outcomes),
        replaced=sum(outcome is Outcome.REPLACE for outcome, _ in outcomes),
        kept=sum(outcome is Outcome.NO for outcome, _ in outcomes),
        unknown=sum(outcome is Outcome.UNKNOWN for outcome, _ in outcomes),
        untried=untried,
        saves_per_hour=sum(saved for _, saved in outcomes),
        is_at_once=is_at_once,
    )


def _outcome(found: NodeFindings | None, lifted: list[Blocker]) -> tuple[Outcome | None, float]:
    """Return what becomes of one node, None where that was never tried, and what it saves per hour."""
    outlook = found.outlook if found is not None else None
    if found is None or outlook is None:
        return Outcome.UNKNOWN, 0.0
    if outlook.lifted.outcome is Outcome.NO:
        # A node that stays without all of its blockers stays without some.
        return Outcome.NO, 0.0
    outcome = _without(found, {id(one) for one in lifted})
    if outcome not in (Outcome.DELETE, Outcome.REPLACE):
        return outcome, 0.0
    # A node that is being deleted already saves what it costs; no command has to be found for it.
    is_leaving = any(one.blocks_drain for one in found.blockers)
    return outcome, (found.price_per_hour or 0.0) if is_leaving else outlook.lifted.savings_per_hour


def _without(found: NodeFindings, lifted: set[int]) -> Outcome | None:
    outlook, own = found.outlook, found.blockers
    assert outlook is not None
    if all(id(one) in lifted for one in own):
        return outlook.lifted.outcome
    codes = {one.code for one in own if id(one) in lifted}
    if len(codes) == 1 and all((id(one) in lifted) == (one.code in codes) for one in own):
        return outlook.without_code[codes.pop()]
    places = [index for index, one in enumerate(own) if id(one) in lifted]
    if len(places) == 1:
        return outlook.without[places[0]]
    return None
