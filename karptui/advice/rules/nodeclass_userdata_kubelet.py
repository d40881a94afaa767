"""Kubelet settings that only userData knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.aws.lint.user_data import user_data_settings
from karptui.aws.nodeclass import KIND
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        users = tuple(map(pool_ref, context.pools_with(nodeclass.name)))
        for one in user_data_settings(nodeclass):
            yield Finding(
                severity=Severity(str(one.severity)),
                objects=(ObjectRef(KIND, nodeclass.name), *users),
                fact=one.fact,
                remedy=one.remedy,
            )


RULE: Final = Rule(
    id="nodeclass-userdata-kubelet",
    title="kubelet settings in userData",
    what="userData of an EC2NodeClass sets maxPods, podsPerCore, reservations or eviction thresholds that spec.kubelet "
    "does not have, or has otherwise.",
    why="Karpenter never reads userData. It plans with spec.kubelet and the limits of the type's network interfaces; "
    "on most families it overwrites maxPods, while reservations and eviction thresholds from userData stay on the "
    "node, which then offers less, or more, than was planned.",
    source="pkg/providers/amifamily/bootstrap of the AWS provider",
    remedy="Move the settings to spec.kubelet and take them out of userData.",
    find=_find,
)
