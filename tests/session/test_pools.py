from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.karpenter.nodepool import NodePool
from karptui.session.cluster_view import ClusterView
from karptui.session.nodeclasses import unread_classes
from karptui.session.pools import NEAR, pool_rows
from tests.builders import a_nodepool
from tests.views.pools.rows import view_of


@given(st.lists(st.sampled_from((1, 2, 10, 11, 20, 21)), max_size=7))
def test_neighbours_are_those_of_equal_and_of_near_weights(weights: list[int]) -> None:
    rows = pool_rows(view_of(*(a_nodepool(name=f"p{at}", weight=weight) for at, weight in enumerate(weights))))
    for at, row in enumerate(rows):
        others = {item.name: abs(item.pool.weight - row.pool.weight) for item in rows if item is not row}
        assert [neighbour.name for neighbour in row.ties] == [name for name, distance in others.items() if not distance]
        assert [item.name for item in row.near] == [name for name, distance in others.items() if 0 < distance < NEAR]
        assert row.before == (rows[at - 1].name if at else "")
        assert row.after == (rows[at + 1].name if at + 1 < len(rows) else "")


def test_unread_nodeclasses_are_looked_for_once_for_all_nodepools(monkeypatch: pytest.MonkeyPatch) -> None:
    live = view_of(*(a_nodepool(name=f"p{at}") for at in range(50)))
    view = ClusterView(live.state, {}, live, evidence=live.evidence)
    asked: Counter[str] = Counter()

    def exists(pool: NodePool) -> bool:
        asked[pool.name] += 1
        return True

    monkeypatch.setattr(NodePool, "nodeclass_exists", property(exists))
    assert len(pool_rows(view)) == 50
    assert unread_classes(view).refs
    assert max(asked.values()) <= 3
