from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from karptui.kube.timestamps import HOUR_NS, NS_PER_SECOND
from karptui.solve.goals.expirations import hours_of, spread
from karptui.solve.run import solve_goal
from karptui.whatif.edits import RemoveNode
from tests.builders import NOW_NS, a_nodeclaim
from tests.studies.test_pause import cluster


@given(hours=st.lists(st.integers(0, 12), max_size=30), most=st.integers(1, 4))
def test_no_hour_holds_more_and_nodes_move_only_forward(hours: list[int], most: int) -> None:
    claims = [
        a_nodeclaim(name=f"n{i}", created_ns=NOW_NS - HOUR_NS, expire_after_ns=(1 + hour) * HOUR_NS + NS_PER_SECOND)
        for i, hour in enumerate(hours)
    ]
    early, left = spread(hours_of(claims, NOW_NS), most)
    numbers = {claim.name: hour for claim, hour in zip(claims, hours, strict=True)}
    moved = {claim.name: hour for hour, of_hour in early.items() for claim in of_hour}
    assert all(hour < numbers[name] for name, hour in moved.items())
    counts = Counter(moved.get(name, hour) for name, hour in numbers.items())
    # Only nodes without any hour left exceed an hour, and only if no arrangement fits.
    assert sum(max(count - most, 0) for count in counts.values()) == left
    excess = max((sum(hour <= until for hour in hours) - most * (until + 1) for until in range(13)), default=0)
    assert left == max(excess, 0)
    if not left:
        assert max(counts.values(), default=0) <= most


def test_the_answer_names_nodes_and_hours() -> None:
    solved = solve_goal(cluster(), "expirations", {"most": "1"})
    assert (solved.best, solved.is_reached) == (None, True)
    assert "1 of 1 node" in solved.because
    assert not any(isinstance(edit, RemoveNode) for edit in solved.scenario.edits)
