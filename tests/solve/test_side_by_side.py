from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from karptui.provisioning.reporter import Ask, Reporter, silent
from karptui.solve.run import solve_goal
from karptui.whatif.situation import WhatIfBase
from karptui.workers.workers import packed, unpacked
from tests.builders import a_pod, a_requirement
from tests.solve.test_goals import FAMILY, a_type
from tests.whatif.remedies.asking import a_base, a_pool

MOST_AHEAD = 4


def elsewhere(ask: Ask, common: object, items: Iterable[object], _reporter: Reporter) -> Iterator[Any]:
    """Ask as other processes do: some items are taken before the first is answered, and all comes as bytes."""
    ahead = deque[bytes]()

    def answered() -> Any:
        return unpacked(packed(ask(common, unpacked(ahead.popleft()), silent)))

    for item in items:
        ahead.append(packed(item))
        if len(ahead) > MOST_AHEAD:
            yield answered()
    while ahead:
        yield answered()


def fleet() -> WhatIfBase:
    types = (a_type("m5.large", "2", 0.1), a_type("c5.4xlarge", "16", 0.7), a_type("r5.4xlarge", "16", 1.0))
    first = a_pool(name="first", weight=10, requirements=(a_requirement(FAMILY, "In", "m5"),))
    second = a_pool(name="second", weight=5, requirements=(a_requirement(FAMILY, "In", "r5"),))
    pods = (a_pod(name="gold", cpu="1", node_selector={"tier": "gold"}), a_pod(name="web", cpu="1"))
    return a_base(*pods, a_pod(name="large", cpu="8"), pools=(first, second, a_pool(name="third")), types=types)


@pytest.mark.parametrize(
    ("goal", "given"),
    [
        ("pending", {}),
        ("pending", {"tries": "3"}),
        ("weight", {"pods": "default/w*", "nodepool": "third"}),
        ("families", {"nodepool": "first", "replay": "pending"}),
    ],
)
def test_the_answer_is_the_same(goal: str, given: dict[str, str]) -> None:
    here = solve_goal(fleet(), goal, given)
    there = solve_goal(fleet(), goal, given, each=elsewhere)
    assert here.effort.tried > 1
    assert there == here
