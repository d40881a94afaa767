"""Compare every decision in forecasts with Karpenter's own code; runs if KARPTUI_ORACLE is the path of the oracle.

KARPTUI_ORACLE_FLEETS is the number of fleets (200), KARPTUI_ORACLE_SEED the seed, and KARPTUI_ORACLE_VERSION the
version of the oracle (1.14.1). Karpenter breaks ties randomly, so the oracle runs again if the answers differ.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from karptui.disruption.command import Method
from karptui.disruption.json_form import method_json
from karptui.disruption.methods import NextPass
from karptui.forward.durations import INSTANT
from karptui.forward.play import Play
from karptui.forward.world import World
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.objects import Condition, Node
from karptui.kube.pod import Pod
from karptui.kube.resources import ResourceList
from karptui.kube.taints import Taint
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND, format_timestamp
from tests.disruption.fleet_generator import FleetGenerator
from tests.disruption.parity import decisions, never_given
from tests.goldens_loading import load

ORACLE = os.environ.get("KARPTUI_ORACLE", "")
VERSION = os.environ.get("KARPTUI_ORACLE_VERSION", "")
RUNS = 60
HORIZON_NS = 6 * 3600 * 10**9
MOST_PASSES = 40
COSTS = "deletionCosts"

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(not ORACLE, reason="KARPTUI_ORACLE is not set")]
Manifest = dict[str, Any]


def watched(play: Play, name: str, writer: Writer, folder: Path) -> dict[str, dict[str, Any]]:
    """Run a forecast, write a snapshot of each disruption pass, and return the decisions of each pass."""
    recorded_passes: dict[str, dict[str, Any]] = {}
    find = play.disruption.find

    def noted(after: Method | None = None) -> NextPass:
        next_pass = find(after)
        if len(recorded_passes) < MOST_PASSES:
            name_of_pass = f"{name}-{len(recorded_passes)}"
            (folder / f"{name_of_pass}.json").write_text(
                json.dumps(writer.write(name_of_pass, play.world, play.now_ns))
            )
            recorded_passes[name_of_pass] = {"disruption": [method_json(result) for result in next_pass.results]}
        return next_pass

    with patch.object(play.disruption, "find", noted):
        play.run()
    return recorded_passes


def test_every_disruption_pass_of_a_forecast_decides_as_karpenter(tmp_path: Path) -> None:
    seed = os.environ.get("KARPTUI_ORACLE_SEED", "1")
    ours: dict[str, dict[str, Any]] = {}
    for number in range(int(os.environ.get("KARPTUI_ORACLE_FLEETS", "200"))):
        name = f"play-{seed}-{number}"
        snapshot = FleetGenerator(name, VERSION).snapshot(name)
        prepared = load(snapshot)
        play = Play(prepared.inventory, prepared.given_types, prepared.settings, prepared.now_ns,
                    until_ns=prepared.now_ns + HORIZON_NS, durations=INSTANT, most_commands=MOST_PASSES)  # fmt: skip
        ours |= watched(play, name, Writer(snapshot, prepared.inventory), tmp_path)
    assert ours
    differing = never_given(ORACLE, ours, tmp_path, is_right, runs=RUNS)
    acting = sum(1 for our in ours.values() if our["disruption"] and our["disruption"][-1]["commands"])
    assert differing == [], f"of {len(ours)} passes, {acting} of them with a command"


def is_right(ours: Mapping[str, Any], seen: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether, for each method in both answers, at least one run of Karpenter decided the same."""
    texts, by_method = decisions(ours), [decisions(document) for document in seen]
    return all(
        any(texts[name] == item[name] for item in by_method) for name in texts.keys() & by_method[0].keys() - {COSTS}
    )


class Writer:
    """Writes the state of a forecast that started from a snapshot as a snapshot."""

    def __init__(self, snapshot: Mapping[str, Any], inventory: Inventory) -> None:
        self._snapshot = snapshot
        self._manifests = {_key(manifest): manifest for manifest in snapshot["objects"]}
        self._objects: dict[tuple[str, str], Any] = {}
        self._of_template: dict[int, Manifest] = {}
        for kind, items in _changing(inventory).items():
            for item in items:
                self._objects[kind, item.key] = item
        for pod in inventory.pods:
            self._of_template.setdefault(id(pod.template), self._manifests["Pod", pod.key])

    def write(self, name: str, world: World, now_ns: int) -> dict[str, Any]:
        changing = _changing(world.inventory)
        objects = [result for (kind, _), result in self._manifests.items() if kind not in changing]
        objects += [self._written(kind, item) for kind, items in changing.items() for item in items]
        return {**self._snapshot, "name": name, "capturedAt": format_timestamp(now_ns), "objects": objects}

    def _written(self, kind: str, item: Any) -> Manifest:
        result: Any = self._objects.get((kind, item.key))
        if result is item:
            unchanged: Manifest = self._manifests[kind, item.key]
            return unchanged
        if kind == "Pod":
            outcome = result is not None and result.uid == item.uid
            return _pod(item, self._manifests[kind, item.key] if outcome else self._of_template[id(item.template)])
        manifest = copy.deepcopy(self._manifests[kind, item.key]) if result is not None else _metadata(kind, item)
        if kind == "PodDisruptionBudget":
            manifest["status"] = {
                **manifest.get("status", {}),
                "disruptionsAllowed": item.disruptions_allowed, "currentHealthy": item.current_healthy
            }  # fmt: skip
            return manifest
        return _node(manifest, item) if kind == "Node" else _claim(manifest, item)


def _changing(inventory: Inventory) -> dict[str, tuple[Any, ...]]:
    return {
        "Pod": inventory.pods, "Node": inventory.nodes, "NodeClaim": inventory.nodeclaims,
        "PodDisruptionBudget": inventory.pdbs,
    }  # fmt: skip


def _key(manifest: Mapping[str, Any]) -> tuple[str, str]:
    meta = manifest["metadata"]
    namespace = meta.get("namespace", "")
    return manifest["kind"], f"{namespace}/{meta['name']}" if namespace else meta["name"]


def _pod(pod: Pod, source: Manifest) -> Manifest:
    manifest = copy.deepcopy(source)
    meta, spec = manifest["metadata"], manifest["spec"]
    meta |= {"name": pod.name, "uid": pod.uid, "creationTimestamp": format_timestamp(pod.created_ns)}
    meta.pop("deletionTimestamp", None)
    if pod.is_terminating:
        meta["deletionTimestamp"] = _whole(pod.deletion_ns)
    spec.pop("nodeName", None)
    if pod.node_name:
        spec["nodeName"] = pod.node_name
    conditions = [
        Condition("PodScheduled", "True" if pod.node_name else "False", pod.scheduled_reason, "", pod.scheduled_ns)
    ]
    if pod.ready is not None:
        conditions.append(Condition("Ready", "True" if pod.ready else "False"))
    manifest["status"] = {"phase": pod.phase, "conditions": _conditions(conditions)}
    if pod.start_ns != ABSENT_NS:
        manifest["status"]["startTime"] = _whole(pod.start_ns)
    return manifest


def _metadata(kind: str, item: Node | NodeClaim) -> Manifest:
    return {
        "apiVersion": "v1" if kind == "Node" else "karpenter.sh/v1",
        "kind": kind,
        "metadata": {"name": item.name, "uid": item.uid, "creationTimestamp": _whole(item.created_ns)},
        "spec": {},
        "status": {},
    }


def _changed(manifest: Manifest, item: Node | NodeClaim) -> None:
    meta = manifest["metadata"]
    meta |= {"labels": dict(item.labels), "annotations": dict(item.annotations)}
    if item.is_deleting:
        meta["deletionTimestamp"] = _whole(item.deletion_ns)
    manifest.setdefault("spec", {})["taints"] = _taints(item.taints)
    manifest.setdefault("status", {})["conditions"] = _conditions(item.conditions)


def _node(manifest: Manifest, node: Node) -> Manifest:
    _changed(manifest, node)
    manifest["spec"]["providerID"] = node.provider_id
    manifest["status"] |= {"capacity": _amounts(node.capacity), "allocatable": _amounts(node.allocatable)}
    return manifest


def _claim(manifest: Manifest, claim: NodeClaim) -> Manifest:
    _changed(manifest, claim)
    spec, status = manifest["spec"], manifest["status"]
    ref = claim.node_class_ref
    spec.setdefault("nodeClassRef", {"group": ref.group, "kind": ref.kind, "name": ref.name})
    spec.setdefault("requirements", [
        {"key": item.key, "operator": item.operator, **({"values": list(item.values)} if item.values else {})}
        for item in claim.requirements
    ])  # fmt: skip
    spec.setdefault("resources", {"requests": _amounts(claim.requests)})
    spec["startupTaints"] = _taints(claim.startup_taints)
    if claim.expire_after_ns is not None:
        spec.setdefault("expireAfter", f"{claim.expire_after_ns // NS_PER_SECOND}s")
    if claim.termination_grace_period_ns is not None:
        spec.setdefault("terminationGracePeriod", f"{claim.termination_grace_period_ns // NS_PER_SECOND}s")
    status |= {
        "providerID": claim.provider_id, "nodeName": claim.node_name,
        "capacity": _amounts(claim.capacity), "allocatable": _amounts(claim.allocatable),
    }  # fmt: skip
    if claim.last_pod_event_ns != ABSENT_NS:
        status["lastPodEventTime"] = _whole(claim.last_pod_event_ns)
    return manifest


def _whole(instant_ns: int) -> str:
    return format_timestamp(instant_ns - instant_ns % NS_PER_SECOND)


def _amounts(amounts: ResourceList) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _taints(taints: Iterable[Taint]) -> list[dict[str, str]]:
    return [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in taints]


def _conditions(conditions: Iterable[Condition]) -> list[dict[str, str]]:
    return [
        {
            "type": item.type, "status": item.status, "reason": item.reason or item.type, "message": item.message,
            "lastTransitionTime": _whole(item.last_transition_ns),
        }
        for item in conditions
    ]  # fmt: skip
