"""maxPods does not make Karpenter reserve less memory, or more, as one may expect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import memory
from karptui.aws.nodeclass import KIND
from karptui.kube.resources import memory_bytes, pod_count
from karptui.provisioning.catalogue import bits
from karptui.whatif.edits import ObjectRef

_BASE_MIB: Final = 255
_PER_POD_MIB: Final = 11


def _find(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        limit, kubelet = nodeclass.kubelet.max_pods, nodeclass.kubelet
        reserves_itself = "memory" in (kubelet.kube_reserved or {})
        if limit is None or reserves_itself or not nodeclass.family.reserves_for_eni_pods:
            continue
        pools = context.pools_with(nodeclass.name)
        by_limit_mib = _BASE_MIB + _PER_POD_MIB * limit
        most, name = max(
            (
                (abs((memory_bytes(one.overhead.kube_reserved) >> 20) - by_limit_mib), one.name)
                for pool in pools
                for i in bits(context.catalogue_of(pool).compatible(context.requirements_of(pool)))
                if pod_count((one := context.catalogue_of(pool).types[i]).capacity) == limit
            ),
            default=(0, ""),
        )
        if not most:
            continue
        yield Finding(
            severity=Severity.INFO,
            objects=(ObjectRef(KIND, nodeclass.name), *map(pool_ref, pools)),
            fact=f"{KIND} {nodeclass.name} sets maxPods {limit}; memory for the kubelet is still reserved by the pods "
            f"that a type's network interfaces could address: on {name} that is {memory(most << 20)} away from "
            f"{by_limit_mib:,}Mi, which {limit} pods would come to.",
        )


RULE: Final = Rule(
    id="nodeclass-max-pods-memory",
    title="maxPods and the memory reserve",
    what="An EC2NodeClass of AL2, AL2023 or Custom sets maxPods without kubeReserved memory.",
    why="kubeReserved memory is 11 MiB a pod and 255 MiB. On AL2, AL2023 and Custom the pods are those of the type's "
    "network interfaces, whatever maxPods says; on Bottlerocket and Windows maxPods counts.",
    source="pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Set spec.kubelet.kubeReserved memory yourself where the difference matters.",
    find=_find,
)
