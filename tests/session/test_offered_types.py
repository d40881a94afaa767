"""The types of a NodePool, asked by the Types screen and by the engine: one truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.cluster_types import ClusterTypes, cluster_types
from karptui.aws.evidence import Evidence
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.session.cluster_view import ClusterView
from karptui.session.known_values import known_values
from karptui.session.offered_types import offered_types_of
from karptui.session.prepare import prepare_view
from karptui.session.types import pool_entries
from karptui.state.inventory import state_of
from tests import story_e
from tests.builders import NOW_NS, a_node, a_nodepool

KWOK = replace(a_nodepool(name="other"), node_class_ref=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "k"))
INVENTORY = Inventory(
    nodepools=(a_nodepool(name="own"), KWOK, replace(KWOK, name="also")),
    nodes=(a_node(pool="other"),),
)


def names_of(types: Sequence[object]) -> list[str]:
    return sorted(str(getattr(one, "name", one)) for one in types)


@pytest.mark.parametrize(
    ("inventory", "evidence"),
    [
        (INVENTORY, Evidence()),
        (INVENTORY, Evidence(instance_types=story_e.TYPES)),
        (story_e.inventory(), Evidence(instance_types=story_e.TYPES)),
    ],
)
def test_the_screen_shows_the_types_that_the_engine_chooses_from(inventory: Inventory, evidence: Evidence) -> None:
    view = ClusterView(state_of(inventory), {}, evidence=evidence)
    shown = {entry.name: names_of([one.name for one in entry.types]) for entry in pool_entries(view)}
    prepared, _ = prepare_view(view, NOW_NS)
    assert prepared.inventory.nodepools
    assert shown == {pool: names_of(types) for pool, types in prepared.types_by_pool.items()}


def test_the_types_of_a_generation_are_resolved_once_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counting(*args: Any, **named: Any) -> ClusterTypes:
        calls.append(args)
        return real(*args, **named)

    real = cluster_types
    monkeypatch.setattr("karptui.session.offered_types.cluster_types", counting)
    view = ClusterView(state_of(INVENTORY), {})
    prepare_view(view, NOW_NS)
    pool_entries(view)
    known_values(view)
    assert offered_types_of(view) is offered_types_of(ClusterView(view.state, {}, view))
    assert len(calls) == 1


def test_a_nodepool_that_comes_is_heard_of() -> None:
    view = ClusterView(state_of(INVENTORY), {})
    assert set(offered_types_of(view).types) == {"other", "also"}
    more = replace(INVENTORY, nodepools=(*INVENTORY.nodepools, replace(KWOK, name="third")))
    assert set(offered_types_of(ClusterView(state_of(more), {}, view)).types) == {"other", "also", "third"}
