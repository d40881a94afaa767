"""Time to run all advice rules, by cluster size, and the slowest rules.

    python benchmarks/advice.py

The fleet of benchmarks/blockers.py: 500 nodes with 10,000 pods, and 5,000 nodes with 100,000 pods, with recorded
instance types; then the same nodes with an EC2NodeClass, whose types are resolved from the built-in catalogue. The
cluster is prepared and surveyed beforehand, as in the analyst. Processor time, best of three, each with a new context,
so that no result is cached.
"""

from __future__ import annotations

import time

from blockers import NOW_NS, fleet, instance_types
from msgspec.structs import replace
from reference import note, print_reference

from karptui.advice.catalogue import RULES
from karptui.advice.context import AdviceContext
from karptui.advice.report import Adviser
from karptui.aws.evidence import NO_EVIDENCE, Evidence
from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.karpenter.nodeclass import NodeClass
from karptui.session.cluster_view import ClusterView
from karptui.session.prepare import prepare_view
from tests.builders.clusters import state_of

ROUNDS = 3
DEAREST = 6


def measure(name: str, view: ClusterView) -> None:
    began = time.process_time()
    prepared, _ = prepare_view(view, NOW_NS)
    steps = AnalysisSteps(prepared, 1)
    for _ in steps.survey():
        pass
    before = time.process_time() - began
    best, by_rule, findings = float("inf"), {}, 0
    for _ in range(ROUNDS):
        context = AdviceContext(prepared, steps.fleet, findings=steps.analysis.findings, evidence=view.evidence)
        adviser, spent = Adviser(context), {}
        began = at = time.process_time()
        for rule in adviser.ask():
            now = time.process_time()
            spent[rule], at = now - at, now
        if at - began < best:
            best, by_rule, findings = at - began, spent, len(adviser.report.findings)
        assert not adviser.report.failures, adviser.report.failures
    print(f"{name}: {len(RULES)} rules {1000 * best:,.0f} ms, {findings} findings (prepared in {before:.1f} s before)")
    note(f"rules, {name}", best)
    for rule, seconds in sorted(by_rule.items(), key=lambda item: -item[1])[:DEAREST]:
        print(f"  {rule:<32} {1000 * seconds:8.1f} ms")


def main() -> None:
    for nodes, pods in ((500, 10_000), (5_000, 100_000)):
        inventory = fleet(nodes, pods)
        recorded = Evidence(instance_types=instance_types())
        size = f"{nodes:,} nodes, {pods:,} pods"
        measure(f"{size}, recorded types", ClusterView(state_of(inventory), {}, evidence=recorded))
        classes = {pool.node_class_ref.name for pool in inventory.nodepools}
        made = tuple(
            NodeClass(name=one, group="karpenter.k8s.aws", kind="EC2NodeClass", spec={"amiFamily": "AL2023"})
            for one in classes
        )
        ec2 = replace(inventory, nodeclasses=made)
        measure(f"{size}, all EC2 types", ClusterView(state_of(ec2), {}, evidence=NO_EVIDENCE))
    print_reference()


if __name__ == "__main__":
    main()
