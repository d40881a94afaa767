from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from karptui.disruption.blockers import BlockerSurvey, methods_for
from karptui.disruption.command import Method
from karptui.disruption.gates import Gate
from karptui.disruption.lanes import lanes_of
from karptui.disruption.methods import fleet_of
from karptui.provisioning.prepared import Prepared
from tests.disruption.parity import answer, decisions, events
from tests.goldens_loading import GOLDENS, load, scenarios

KARPENTER = GOLDENS / "karpenter-1.14.1"
RULES = GOLDENS / "rules"


@pytest.mark.parametrize("family", ["disruption", "consolidation", "runners", "storyE", "spot15ties", "spot15real"])
def test_decisions_and_events_match_karpenter(family: str) -> None:
    assert _differences(KARPENTER / f"{family}.jsonl.gz") == {}


def test_scenarios_of_rules_match_karpenter() -> None:
    assert _differences(RULES / "rules-disruption.jsonl.gz") == {}


@pytest.mark.parametrize(
    "path",
    [path for folder in ("k115", "found-1.15.0") for path in sorted((GOLDENS / folder).glob("*.jsonl.gz"))],
    ids=lambda path: path.name,
)
def test_scenarios_of_rules_of_1_15_match_karpenter(path: Path) -> None:
    assert _differences(path) == {}


@pytest.mark.parametrize("name", [
    pytest.param("k115-by-1.14.1", id="in 1.14 a reboot counts in no budget, and no type limits volumes"),
    pytest.param("buffers", id="nodes with a buffer are kept after a pass of the provisioner"),
])  # fmt: skip
def test_further_scenarios_match_karpenter(name: str) -> None:
    assert _differences(GOLDENS / f"{name}.jsonl.gz") == {}


def test_only_random_orders_are_ignored_in_comparisons() -> None:
    first, second = (
        "incompatible requirements, key a, a In [x] not in a In [y]",
        "did not tolerate taint (taint=t:NoExecute)",
    )
    both = "incompatible requirements, key b, b In [x] not in b In [y]; key a, a In [x] not in a In [y]"
    turned = "incompatible requirements, key a, a In [x] not in a In [y]; key b, b In [x] not in b In [y]"
    assert _sorted_error(f"{first}; {second}") != _sorted_error(f"{second}; {first}")
    assert _sorted_error(f"{second}; {both}; {second}") == _sorted_error(f"{second}; {turned}; {second}")
    assert _sorted_error(f"{both}; {first}") != _sorted_error(f"{first}; {both}")
    assert _sorted_error(both) != _sorted_error(first)


def _sorted_error(reasons: str) -> dict[str, list[str]]:
    return events({"events": {"Node/a": [f"Unconsolidatable: Not all pods would schedule, default/web => {reasons} "]}})


def _differences(path: Path) -> dict[str, Any]:
    result = {}
    for scenario in scenarios(path):
        snapshot = scenario["snapshot"]
        if not snapshot.get("disruption"):
            continue
        ours = answer(snapshot, path.parent)
        theirs = [scenario["expected"], *scenario.get("alternatives", ())]
        right = [their for their in theirs if decisions(their) == decisions(ours)]
        if not any(events(item) == events(ours) for item in right):
            result[snapshot["name"]] = scenario.get("rule", "differs")
    return result


FILES = (
    *sorted((GOLDENS / "karpenter-1.14.1").glob("*.jsonl.gz")),
    GOLDENS / "rules" / "rules-disruption.jsonl.gz",
    *sorted((GOLDENS / "k115").glob("*.jsonl.gz")),
    *sorted((GOLDENS / "found-1.15.0").glob("*.jsonl.gz")),
)
GATES = {*map(str, Gate), "DO_NOT_REPAIR", "REPAIR_UNBOUNDED"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_wanted_nodes_past_all_gates_are_karpenters_candidates(path: Path) -> None:
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
    """Return by method the nodes that it wants and no gate blocks."""
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
