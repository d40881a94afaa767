"""Blockers that edits bring or take away."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from karptui.aws.prices import PriceSettings, settings_of
from karptui.disruption.blocker import Blocker
from karptui.disruption.blockers import BlockerSurvey
from karptui.disruption.simulate import observed_fleet
from karptui.provisioning.reporter import Reporter, silent
from karptui.whatif.drift_difference import with_drift
from karptui.whatif.situation import Edited, Situation
from karptui.whatif.vacate import without_nodes

_REPORT_EVERY = 64


class BlockerLine(msgspec.Struct, frozen=True):
    """One blocker of one node."""

    code: str
    """Of `karptui.disruption.codes.Code`."""
    node_name: str
    """Empty for what holds the whole cluster."""
    pool_name: str
    object: str
    """``Kind/namespace/name`` of what blocks."""
    owner: str
    """``Kind/namespace/name`` behind it, empty where there is none."""
    value: str
    """What is written there."""
    message: str
    price_per_hour: float | None
    """Dollars that the node costs."""


def blocker_changes(
    base: Situation, edited: Edited, reporter: Reporter = silent
) -> tuple[tuple[BlockerLine, ...], tuple[BlockerLine, ...]]:
    """Return the blockers that the edits bring, and those that they take away, by node.

    Takes longer than a replay on a large cluster, so it is asked after that. NodeClaims that the edits drift count as
    drifted; nodes that the edits remove are gone with their blockers.

    Args:
        base: The cluster as it is.
        edited: The cluster as the edits make it.
        reporter: Told of progress in nodes; may raise `Cancelled`.

    Raises:
        Cancelled: when the reporter does.
    """
    inventory = with_drift(edited.inventory, base, edited)
    if edited.removed:
        inventory = without_nodes(inventory, edited.removed)
    after = edited if inventory is edited.inventory else edited.derive(inventory)
    old, new = _survey(base, reporter), _survey(after, reporter)
    gained = [new[key] for key in new if key not in old]
    lost = [old[key] for key in old if key not in new]
    settings = settings_of(base.prices)
    return _lines(gained, settings), _lines(lost, settings)


def _survey(situation: Situation, reporter: Reporter) -> dict[tuple[str, ...], Blocker]:
    fleet = observed_fleet(situation.prepared)
    survey = BlockerSurvey(fleet)
    found = {_key(blocker): blocker for blocker in survey.cluster}
    for index, node in enumerate(fleet.nodes):
        if not index % _REPORT_EVERY:
            reporter(index, len(fleet.nodes))
        found.update((_key(blocker), blocker) for blocker in survey.of(node))
    return found


def _key(blocker: Blocker) -> tuple[str, ...]:
    return str(blocker.code), blocker.node_name, blocker.object_ref, blocker.pod_uid


def _lines(blockers: Iterable[Blocker], settings: PriceSettings) -> tuple[BlockerLine, ...]:
    lines = [
        BlockerLine(
            code=str(one.code),
            node_name=one.node_name,
            pool_name=one.pool_name,
            object=one.object_ref,
            owner=one.owner,
            value=one.value,
            message=one.message,
            price_per_hour=settings.paid(one.price_per_hour),
        )
        for one in blockers
    ]
    return tuple(sorted(lines, key=lambda line: (line.node_name, line.code, line.object)))
