"""Changes the version of Karpenter, and reports EC2NodeClasses that it would not call ready."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.nodeclass import readable
from karptui.aws.nodeclass_validation import REASONS, refusal
from karptui.decode.kinds import Kind
from karptui.karpenter.nodeclass import EC2_KIND, NodeClass, is_ec2
from karptui.karpenter.rules import MODELLED, Rules, is_modelled, rules_for
from karptui.kube.objects import with_condition
from karptui.whatif.edits import EditError
from karptui.whatif.edits.draft import ClusterDraft
from karptui.whatif.edits.objects import ready, settle_pools_of

_VALIDATION: Final = "ValidationSucceeded"


def run_version(draft: ClusterDraft, version: str) -> None:
    """Change the version.

    Raises:
        EditError: if the version is not modelled.
    """
    if not is_modelled(version):
        known = ", ".join(rules.version for rules in MODELLED)
        raise EditError(f"Karpenter {version or '(no version)'} is not modelled: {known} are")
    draft.settings = replace(draft.settings, rules=rules_for(version))


def judge_nodeclasses(draft: ClusterDraft, rules: Rules, before: tuple[NodeClass, ...]) -> None:
    """Update the readiness of EC2NodeClasses and their NodePools: since 1.15 Karpenter alone decides.

    Args:
        rules: The rules before.
        before: NodeClasses before.
    """
    if not draft.settings.rules.evaluates_kubelet:
        return
    classes = {node_class.key: node_class for node_class in before} if draft.settings.rules is rules else {}
    for nodeclass in filter(is_ec2, list(draft.values(Kind.NODECLASS))):
        if classes.get(nodeclass.key) is nodeclass:
            continue
        node_class = _judged(draft, nodeclass)
        if node_class is not nodeclass:
            draft.put(Kind.NODECLASS, node_class)
            settle_pools_of(draft, node_class.kind, node_class.name)


def _judged(draft: ClusterDraft, nodeclass: NodeClass) -> NodeClass:
    parsed = readable(nodeclass)
    class_refusal = (
        refusal(nodeclass, parsed, draft.settings, instance_type_facts().values()) if parsed is not None else None
    )
    if class_refusal is not None:
        draft.note(f"{EC2_KIND} {nodeclass.name} is not ready: {class_refusal.reason}: {class_refusal.message}")
        return replace(
            nodeclass, conditions=with_condition(nodeclass.conditions, ready("False", class_refusal.message))
        )
    was_refused = any(c.type == _VALIDATION and c.reason in REASONS for c in nodeclass.conditions)
    if not was_refused or nodeclass.is_ready:
        return nodeclass
    draft.note(f"{EC2_KIND} {nodeclass.name} is ready, as far as spec.kubelet and its annotations tell")
    return replace(nodeclass, conditions=with_condition(nodeclass.conditions, ready("True")))
