"""Helpers that search remedies for pods of a small cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karptui.disruption.analysis import Analysis, NodeFindings
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.disruption.codes import Blocker
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod
from karptui.kube.resources import amounts_document
from karptui.provisioning.explain import PodExplanation, explain
from karptui.provisioning.prepared import prepare
from karptui.provisioning.solution import Solution, solve
from karptui.whatif.edits import SetField
from karptui.whatif.edits.document import requirement_documents, taint_document
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, ChangedObjects
from karptui.whatif.remedies.pending.remedy import Remedy, RemedyKind, RemedyReport
from karptui.whatif.remedies.pending.search import RemedySearch
from karptui.whatif.situation import TypesResult, WhatIfBase
from tests.builders import NOW_NS, a_manifest, a_nodepool, an_instance_type, decoded

TYPES = (
    an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.096, "spot": 0.04}),
    an_instance_type(name="m5.xlarge", cpu="4", memory="16Gi", prices={"on-demand": 0.192}),
    an_instance_type(name="r5.xlarge", cpu="4", memory="32Gi", prices={"on-demand": 0.252}),
)


def a_pool(**fields: Any) -> NodePool:
    """Return a NodePool with its manifest; the arguments are those of ``a_nodepool``."""
    pool = a_nodepool(**fields)
    ref = pool.node_class_ref
    template: dict[str, Any] = {
        "metadata": {"labels": dict(pool.template_labels)},
        "spec": {"nodeClassRef": {"group": ref.group, "kind": ref.kind, "name": ref.name},
                 "requirements": requirement_documents(pool.requirements),
                 "taints": [taint_document(taint) for taint in pool.taints]},
    }  # fmt: skip
    spec: dict[str, Any] = {"template": template, "weight": pool.weight}
    if pool.limits is not None:
        spec["limits"] = amounts_document(pool.limits)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-20T11:00:00Z"}
    manifest = a_manifest(
        "NodePool", pool.name, api_version="karpenter.sh/v1", spec=spec, status={"conditions": [ready]}
    )
    result: NodePool = decoded(manifest)
    return result


def a_base(
    *pods: Pod, pools: Sequence[Any] = (), types: Sequence[InstanceType] = TYPES, fixed: bool = True, **others: Any
) -> WhatIfBase:
    settings = others.pop("settings", Settings())
    inventory = Inventory(pods=(*pods, *others.pop("running", ())), nodepools=tuple(pools) or (a_pool(),), **others)

    def types_for(_inventory: Inventory, _settings: Settings) -> TypesResult:
        return TypesResult(tuple(types), is_fixed=fixed)

    return WhatIfBase(inventory, types_for, settings, NOW_NS)


def find_remedies(
    base: WhatIfBase, pods: Sequence[Pod], explanation: PodExplanation | None, solution: Solution | None = None
) -> RemedyReport:
    """Return the complete report; the arguments are those of `RemedySearch`."""
    search = RemedySearch(base, pods, explanation, solution)
    while search.step():
        pass
    return search.report


def a_search(base: WhatIfBase, *pods: Pod) -> RemedySearch:
    return RemedySearch(base, *_asked(base, pods))


def asked(base: WhatIfBase, *pods: Pod) -> RemedyReport:
    """Return the complete report about pods."""
    return find_remedies(base, *_asked(base, pods))


def _asked(base: WhatIfBase, pods: Sequence[Pod]) -> tuple[Sequence[Pod], Any]:
    solution = solve(base.prepared)
    assert pods[0].key in solution.errors, "a pod is schedulable, so there is nothing to explain"
    return pods, explain(solution, pods[0])


def blockers_of(findings: Mapping[str, NodeFindings], owner: str = "") -> list[Blocker]:
    """Return the blockers of all nodes whose owner has this prefix."""
    return [blocker for item in findings.values() for blocker in item.blockers if blocker.owner.startswith(owner)]


def changed_objects(inventory: Inventory) -> ChangedObjects:
    return ChangedObjects(
        pods={pod.key: pod for pod in inventory.pods},
        nodepools={pool.name: pool for pool in inventory.nodepools},
        pdbs={pdb.key: pdb for pdb in inventory.pdbs},
        workloads=frozenset(f"{workload.kind}/{workload.key}" for workload in inventory.workloads),
    )


def analysed(inventory: Inventory, types: Sequence[InstanceType]) -> Analysis:
    """Return the analysis of a cluster, with every removal simulated."""
    return analyse_all(AnalysisSteps(prepare(inventory, types, Settings(), NOW_NS), 1))


def fields_of(remedy: Remedy | BlockerRemedy) -> list[SetField]:
    """Return a remedy's edits, which must all set fields."""
    fields = [edit for edit in remedy.edits if isinstance(edit, SetField)]
    assert len(fields) == len(remedy.edits)
    return fields


def of_kind(report: RemedyReport, kind: RemedyKind) -> list[Remedy]:
    return [remedy for remedy in report.remedies if remedy.kind is kind]
