from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

from karptui.disruption.blockers import BlockerSurvey, methods_for
from karptui.disruption.command import Method
from karptui.disruption.gates import Gate
from karptui.disruption.lanes import lanes_of
from karptui.disruption.methods import fleet_of
from karptui.provisioning import Prepared
from tests.provisioning.loading import GOLDENS, load, scenarios

FILES = (
    *sorted((GOLDENS / "karpenter-1.14.1").glob("*.jsonl.gz")),
    GOLDENS / "rules" / "rules-disruption.jsonl.gz",
    *sorted((GOLDENS / "k115").glob("*.jsonl.gz")),
    *sorted((GOLDENS / "found-1.15.0").glob("*.jsonl.gz")),
)
GATES = {*map(str, Gate), "DO_NOT_REPAIR", "REPAIR_UNBOUNDED"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_a_method_that_wants_a_node_past_the_gates_has_it_as_candidate(path: Path) -> None:
    wrong = {}
    for scenario in scenarios(path):
        snapshot = scenario["snapshot"]
        if not snapshot.get("disruption"):
            continue
        ours = _candidates(load(snapshot, path.parent))
        for method in scenario["expected"]["disruption"]:
            if method["name"] != "LegacyRepair" and set(method["candidates"]) != ours[method["name"]]:
                wrong[snapshot["name"], method["name"]] = set(method["candidates"]) ^ ours[method["name"]]
    assert wrong == {}


def _candidates(cluster: Prepared) -> Mapping[str, set[str]]:
    """Return by method the nodes that it wants and no gate holds."""
    fleet = fleet_of(cluster)
    survey = BlockerSurvey(fleet)
    texts: dict[str, set[str]] = defaultdict(set)
    for node in fleet.nodes:
        if node.claim is None:
            continue
        wanted = survey.should_disrupt.of(node)
        result = methods_for(fleet, node) | ({Method.REPAIR} if survey.should_disrupt.repair is not None else set())
        methods = [method for method in Method if method in result]
        for method, lane in zip(methods, lanes_of(methods, wanted, survey.of(node, wanted), None), strict=True):
            if lane.is_wanted and lane.code not in GATES:
                texts[str(method)].add(node.name)
    return texts
