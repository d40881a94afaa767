from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pytest
from msgspec.structs import astuple, replace

from karptui.disruption.analysis import Analysis
from karptui.disruption.analysis_steps import AnalysisSteps, key_of
from karptui.disruption.should_disrupt import WantedBy
from karptui.karpenter import labels
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodepool import WHEN_EMPTY, DisruptionBudget, NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.kube.workload import PodDisruptionBudget, Workload
from karptui.provisioning.prepared import prepare
from karptui.provisioning.state_node import StateNode
from tests import story_e
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_condition, a_pdb, a_pod, an_event, an_instance_type, an_owner
from tests.disruption.fleet_generator import FleetGenerator
from tests.goldens_loading import load

SETTINGS = Settings()


def surveyed(
    inventory: Inventory,
    before: Analysis | None = None,
    *,
    now_ns: int = NOW_NS,
    types: Sequence[InstanceType] = story_e.TYPES,
    settings: Settings = SETTINGS,
) -> AnalysisSteps:
    prepared = prepare(inventory, types, settings, now_ns)
    steps = AnalysisSteps(prepared, 1) if before is None else AnalysisSteps(prepared, 2, before)
    for _ in steps.survey():
        pass
    return steps


def same(left: Analysis, right: Analysis) -> bool:
    """Return whether two analyses are equal for every node."""

    def plain(analysis: Analysis) -> dict[str, list[Any]]:
        return {
            key: [
                [astuple(blocker) for blocker in findings.blockers],
                *(
                    getattr(findings, name)
                    for name in ("why", "drain", "recent_pods", "grace_ns", "price_per_hour", "moving_pods")
                ),
            ]
            for key, findings in analysis.findings.items()
        }

    return plain(left) == plain(right)


ItemT = TypeVar("ItemT", NodePool, Node, PodDisruptionBudget, Pod)


def _changed(items: Sequence[ItemT], name: str, **fields: Any) -> tuple[ItemT, ...]:
    return tuple(replace(pool, **fields) if pool.name == name else pool for pool in items)


def _pod(inventory: Inventory, name: str, **fields: Any) -> Inventory:
    return replace(inventory, pods=_changed(inventory.pods, name, **fields))


def _pool(inventory: Inventory, name: str, **fields: Any) -> Inventory:
    return replace(inventory, nodepools=_changed(inventory.nodepools, name, **fields))


FIRST = "ip-10-0-71-204"
BUDGET = (DisruptionBudget("0", "0 12 * * *", "1h"),)
CHANGES: dict[str, Callable[[Inventory], Inventory]] = {
    "nothing": lambda inventory: inventory,
    "a pod ends": lambda inventory: _pod(inventory, "runner-7f2c4", phase="Succeeded"),
    "a pod comes": lambda inventory: replace(inventory, pods=(*inventory.pods, a_pod(name="new", node=FIRST))),
    "a pod goes": lambda inventory: replace(inventory, pods=inventory.pods[1:]),
    "a node is not ready": lambda inventory: replace(
        inventory, nodes=_changed(inventory.nodes, FIRST, conditions=(a_condition("Ready", status="False"),))
    ),
    "a node has do-not-disrupt": lambda inventory: replace(
        inventory,
        nodes=tuple(
            replace(node, annotations={labels.DO_NOT_DISRUPT: "true"}) if node.name == FIRST else node
            for node in inventory.nodes
        ),
    ),
    "a claim drifts": lambda inventory: replace(
        inventory,
        nodeclaims=tuple(
            replace(claim, conditions=(*claim.conditions, a_condition("Drifted"))) for claim in inventory.nodeclaims
        ),
    ),
    "a claim is deleted": lambda item: replace(
        item, nodeclaims=(replace(item.nodeclaims[0], deletion_ns=NOW_NS - MINUTE_NS), *item.nodeclaims[1:])
    ),
    "a PodDisruptionBudget opens": lambda inventory: replace(
        inventory, pdbs=_changed(inventory.pdbs, "postgres", disruptions_allowed=1)
    ),
    "a PodDisruptionBudget comes": lambda inventory: replace(
        inventory, pdbs=(*inventory.pdbs, a_pdb(name="all", namespace="web", labels={}))
    ),
    "a workload is known": lambda inventory: replace(
        inventory,
        workloads=(
            *inventory.workloads[1:],
            Workload(
                name="runner-7f2c4",
                namespace="gitlab",
                api_version="batch/v1",
                kind="Job",
                owners=(an_owner(kind="CronJob", name="nightly", api_version="batch/v1"),),
            ),
        ),
    ),
    "a budget closes": lambda inventory: _pool(inventory, "general", budgets=(DisruptionBudget("0"),)),
    "a window opens": lambda inventory: _pool(inventory, "general", budgets=BUDGET),
    "a policy changes": lambda inventory: _pool(inventory, "general", consolidation_policy=WHEN_EMPTY),
    "a pool goes": lambda inventory: replace(inventory, nodepools=inventory.nodepools[1:]),
    "a pool is static": lambda inventory: _pool(inventory, "general", replicas=1),
    "a node is nominated": lambda inventory: replace(
        inventory,
        events=(
            *inventory.events,
            an_event(
                about="Pod/web/x", reason="Nominated", message=f"Pod should schedule on: node/{FIRST}", last_ns=NOW_NS
            ),
        ),
    ),
    "Karpenter says something": lambda inventory: replace(
        inventory,
        events=(
            an_event(
                about=f"Node/{FIRST}",
                reason="DisruptionBlocked",
                message=f'Pod has "{labels.DO_NOT_DISRUPT}" annotation (Pod=gitlab/runner-9d0aa)',
                last_ns=NOW_NS - MINUTE_NS,
            ),
        ),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("later_ns", [0, 49 * MINUTE_NS, 2 * HOUR_NS])
def test_a_reused_survey_equals_a_new_one_after_a_change(change: str, later_ns: int) -> None:
    inventory = story_e.inventory()
    before = surveyed(inventory).analysis
    changed = CHANGES[change](inventory)
    after = surveyed(changed, before, now_ns=NOW_NS + later_ns)
    assert same(after.analysis, surveyed(changed, now_ns=NOW_NS + later_ns).analysis)
    # A second time, based on a survey that was itself based on another.
    again = surveyed(changed, after.analysis, now_ns=NOW_NS + later_ns + MINUTE_NS)
    assert same(again.analysis, surveyed(changed, now_ns=NOW_NS + later_ns + MINUTE_NS).analysis)


@pytest.mark.parametrize(
    "options",
    [
        {"types": story_e.TYPES[:1]},
        {"types": [an_instance_type(name=item.name, prices={"on-demand": 9.0}) for item in story_e.TYPES]},
        {"types": ()},
        {"settings": Settings(batch_max_seconds=3600.0)},
    ],
)
def test_a_reused_survey_equals_a_new_one_after_types_or_settings_changed(options: Mapping[str, Any]) -> None:
    inventory = CHANGES["a node is nominated"](story_e.inventory())
    before = surveyed(inventory).analysis
    after = surveyed(inventory, before, **options)
    assert same(after.analysis, surveyed(inventory, **options).analysis)


def test_unchanged_nodes_are_not_surveyed(monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = story_e.inventory()
    before = surveyed(inventory).analysis
    changed = CHANGES["a pod ends"](inventory)
    seen: list[str] = []
    steps = AnalysisSteps(prepare(changed, story_e.TYPES, SETTINGS, NOW_NS + 1), 2, before)
    look = steps._survey.of

    def watched(node: StateNode, wanted: WantedBy | None = None) -> Any:
        seen.append(node.name)
        return look(node, wanted)

    monkeypatch.setattr(steps._survey, "of", watched)
    for _ in steps.survey():
        pass
    # Only the pod's node and the deleting node.
    assert sorted(seen) == ["ip-10-0-33-7", FIRST]
    assert sum(steps.analysis.findings[key] is before.findings[key] for key in before.findings) == 7


def test_first_keys_are_surveyed_first() -> None:
    prepared = prepare(story_e.inventory(), story_e.TYPES, SETTINGS, NOW_NS)
    steps = AnalysisSteps(prepared, 1)
    keys = [key_of(node) for node in steps.fleet.nodes]
    survey = steps.survey((keys[4], "claim/gone", keys[2]))
    assert [next(survey), next(survey)] == [keys[4], keys[2]]
    partial = steps.analysis
    assert (set(partial.findings), partial.managed, partial.is_complete) == ({keys[4], keys[2]}, 8, False)
    assert partial.memory is None
    assert [key for key in survey if key.startswith("claim/")] == [key for key in keys if key not in partial.findings]


@pytest.mark.parametrize("seed", range(3))
def test_a_reused_survey_equals_a_new_one_after_random_changes(seed: int) -> None:
    chance = random.Random(seed)
    prepared = load(FleetGenerator(f"memory-{seed}").snapshot("x"))
    types: Any = prepared.given_types
    inventory, now_ns = prepared.inventory, prepared.now_ns
    analysis = surveyed(inventory, now_ns=now_ns, types=types, settings=prepared.settings).analysis
    for _ in range(6):
        pods = [pod for pod in inventory.pods if chance.random() > 0.1]
        pods = [replace(pod, ready=not pod.ready) if chance.random() < 0.1 else pod for pod in pods]
        pdbs = [replace(budget, disruptions_allowed=chance.randrange(2)) if chance.random() < 0.3 else budget
                for budget in inventory.pdbs]  # fmt: skip
        claims = [
            replace(claim, conditions=claim.conditions[:-1]) if chance.random() < 0.1 else claim
            for claim in inventory.nodeclaims
        ]
        inventory = replace(inventory, pods=tuple(pods), pdbs=tuple(pdbs), nodeclaims=tuple(claims))
        now_ns += chance.choice((0, MINUTE_NS, 20 * MINUTE_NS, 3 * HOUR_NS))
        options: dict[str, Any] = {"now_ns": now_ns, "types": types, "settings": prepared.settings}
        after = surveyed(inventory, analysis, **options).analysis
        assert same(after, surveyed(inventory, **options).analysis)
        analysis = after
