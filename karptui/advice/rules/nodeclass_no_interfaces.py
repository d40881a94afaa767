"""An empty list of network interfaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.aws.nodeclass import KIND
from karptui.whatif.edits import ObjectRef, SetField


def _find(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        if nodeclass.spec.network_interfaces == ():
            ref = ObjectRef(KIND, nodeclass.name)
            yield Finding(
                severity=Severity.WARNING,
                objects=(ref, *map(pool_ref, context.pools_with(nodeclass.name))),
                fact=f"{KIND} {nodeclass.name} has networkInterfaces: []: every type counts as having no EFA, and "
                "types without an Elastic Network Adapter are ruled out.",
                edits=(SetField(ref, ("spec", "networkInterfaces")),),
            )


RULE: Final = Rule(
    id="nodeclass-no-interfaces",
    title="an empty networkInterfaces list",
    what="spec.networkInterfaces of an EC2NodeClass is an empty list.",
    why="An empty list is not the same as none: EFA interfaces are then counted from the list, which makes them 0 "
    "everywhere, and types that cannot have the interfaces are ruled out, those without ENA among them.",
    source="pkg/providers/instancetype/types.go and compatibility.go of the AWS provider",
    remedy="Leave the field out.",
    find=_find,
)
