"""Subnets whose zone id is not known fall into one zone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted, joined
from karptui.aws.nodeclass import KIND
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        bare = [one for one in nodeclass.status.subnets or () if not one.zone_id]
        zones = list(dict.fromkeys(one.zone for one in bare))
        if len(zones) > 1:
            yield Finding(
                severity=Severity.WARNING,
                objects=(ObjectRef(KIND, nodeclass.name), *map(pool_ref, context.pools_with(nodeclass.name))),
                fact=f"{counted(len(bare), 'subnet')} in status.subnets of {KIND} {nodeclass.name} have no zoneID: "
                f"{joined(zones)} count as one zone, {zones[0]}, and nothing is offered in the others.",
            )


RULE: Final = Rule(
    id="nodeclass-subnet-zone-id",
    title="subnets without zone id",
    what="Subnets in the status of an EC2NodeClass lie in several zones and have no zoneID.",
    why="Zones are told apart by their ids. Subnets without one count as the same zone, and only the first one's name "
    "is offered: pods that need another zone cannot be placed.",
    source="pkg/providers/instancetype/instancetype.go of the AWS provider",
    remedy="Let the controller write the status anew: it needs ec2:DescribeSubnets, and a version that knows zoneID.",
    find=_find,
)
