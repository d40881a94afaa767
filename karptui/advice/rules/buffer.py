"""CapacityBuffers that reserve nothing."""

from __future__ import annotations

from collections.abc import Iterator

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import span
from karptui.kube.objects import condition_of
from karptui.kube.timestamps import MINUTE_NS
from karptui.provisioning.waiting_pods import READY_FOR_PROVISIONING
from karptui.whatif.edits import ObjectRef


@rule(
    "buffer-not-ready",
    title="a CapacityBuffer reserves nothing",
    what="The condition ReadyForProvisioning of a CapacityBuffer has been False for 5 minutes.",
    why="Karpenter makes placeholder pods only for buffers that are ready. Without its pod template or workload a "
    "buffer reserves no capacity, and consolidation removes the nodes that it kept.",
    source="pkg/controllers/capacitybuffer/controller.go",
    remedy="Correct the buffer's podTemplateRef or scalableRef, or create the object that it names.",
)
def _not_ready(context: AdviceContext) -> Iterator[Finding]:
    for buffer in context.inventory.capacity_buffers:
        ready = condition_of(buffer.conditions, READY_FOR_PROVISIONING)
        age_ns = context.now_ns - ready.last_transition_ns if ready is not None else 0
        if ready is not None and ready.status == "False" and age_ns >= 5 * MINUTE_NS:
            yield Finding(
                severity=Severity.ERROR,
                objects=(ObjectRef("CapacityBuffer", buffer.name, buffer.namespace),),
                fact=f"CapacityBuffer {buffer.namespace}/{buffer.name} has not been ready for {span(age_ns)} and "
                f"reserves nothing: {ready.message or ready.reason}.",
            )
