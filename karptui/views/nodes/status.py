"""What state a node is in: one word, since when, and the sentence behind it."""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import DISRUPTION_REASON, REBOOTING, DrainStage, NodeClaim, deletion_stage, is_untried
from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.objects import Condition, Node, true_condition
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND
from karptui.kube.units import age_text, short_age_text, span_text
from karptui.session.nodes import NodeEntry
from karptui.views.row import Tone

_REBOOT_ISSUED: Final = "RebootIssued"
_LEAST_REBOOT_DRAIN_NS: Final = 5 * NS_PER_SECOND
NOT_LAUNCHED: Final = "the instance is not launched yet"
NOT_REGISTERED: Final = "the instance runs, but its node has not joined the cluster yet"


_DRIFTS: Final = {
    "NodePoolDrifted": "its NodePool's template was changed",
    "RequirementsDrifted": "its NodePool's requirements no longer allow it",
    "InstanceTypeNotFound": "its instance type is no longer available",
    "NodeClassDrift": "its NodeClass was changed",
    "AMIDrift": "its NodeClass selects another image",
    "SubnetDrift": "its NodeClass selects other subnets",
    "SecurityGroupDrift": "its NodeClass selects other security groups",
    "CapacityReservationDrift": "its NodeClass selects other capacity reservations",
    "PlacementGroupDrift": "its NodeClass names another placement group",
}
"""By Karpenter's word for it, how a node differs from what would be launched now."""


SHORT_CELLS: Final = 13
"""Cells of a short state."""


class NodeStatus(msgspec.Struct, frozen=True):
    """The state of a node or claim."""

    word: str
    """``Ready``, ``NotReady``, ``Launching``…"""
    tone: Tone
    since_ns: int = ABSENT_NS
    """When it began; ABSENT_NS where time says nothing."""
    sentence: str = ""
    rank: int = 9
    """Worst first, for sorting."""

    def text(self, now_ns: int) -> str:
        """Return the word with its duration."""
        return f"{self.word} {age_text(self.since_ns, now_ns)}" if self.since_ns else self.word

    def short_text(self, now_ns: int) -> str:
        """Return the same in few cells: the duration in one unit, or only a long word."""
        text = f"{self.word} {short_age_text(self.since_ns, now_ns)}" if self.since_ns else self.word
        return text if len(text) <= SHORT_CELLS else self.word


def node_status(entry: NodeEntry) -> NodeStatus:
    """Return the state that matters most."""
    node, claim = entry.node, entry.claim
    if node is None:
        if claim is None:
            return NodeStatus("Unknown", Tone.MUTED)
        return _claim_status(claim, may_see_nodes="Node" not in entry.hidden)
    if entry.is_deleting:
        return _leaving(node, claim, may_see_claims="NodeClaim" not in entry.hidden)
    if claim is not None and claim.is_true(REBOOTING):
        return _rebooting(claim)
    starting = _starting(node, claim)
    ready = node.ready
    if ready is None or ready.status != "True":
        return starting or _not_ready(ready, is_cordoned=node.is_unschedulable)
    if karpenter_labels.is_disrupted(node.taints):
        if claim is not None and not claim.is_true(DISRUPTION_REASON):
            key = karpenter_labels.DISRUPTED_TAINT.key
            left = f"{key} is set without a disruption command: Karpenter will remove it"
            return NodeStatus("Tainted", Tone.WARNING, ABSENT_NS, left, 4)
        chosen = "chosen for disruption: it is deleted once its replacement is ready"
        return NodeStatus("Disrupting", Tone.LEAVING, _reason_ns(claim), chosen, 3)
    if starting is not None:
        return starting
    if node.is_unschedulable:
        return NodeStatus("Cordoned", Tone.WARNING, ABSENT_NS, "cordoned: no new pods are scheduled to it", 4)
    drifted = true_condition(claim.conditions, "Drifted") if claim is not None else None
    if drifted is not None:
        return NodeStatus("Drifted", Tone.WARNING, drifted.last_transition_ns, _drift_words(drifted.reason), 6)
    return NodeStatus("Ready", Tone.GOOD, ABSENT_NS, "ready", 9)


def _drift_words(reason: str) -> str:
    words = _DRIFTS.get(reason, "it differs from its NodePool or NodeClass")
    return f"{words} ({reason})" if reason else words


def is_faulty(status: NodeStatus) -> bool:
    """Whether the state asks for a look."""
    return status.tone in (Tone.FAULT, Tone.WARNING, Tone.LEAVING)


def _claim_status(claim: NodeClaim, *, may_see_nodes: bool) -> NodeStatus:
    if claim.is_deleting:
        return NodeStatus(
            "Deleting", Tone.LEAVING, claim.deletion_ns, "the NodeClaim is being deleted; it has no node", 2
        )
    created = claim.created_ns
    for condition, word, waits in (
        ("Launched", "Launching", NOT_LAUNCHED),
        ("Registered", "Registering", NOT_REGISTERED),
    ):
        if not claim.is_true(condition):
            step = claim.condition(condition)
            text = _message_of(step)
            is_failing = claim.refused_launch is not None or (step is not None and step.status == "False")
            tone = Tone.FAULT if is_failing else Tone.ACTIVE
            return NodeStatus(word, tone, created, text or waits, 1 if is_failing else 5)
    if not may_see_nodes:
        word = "Initialized" if claim.is_true("Initialized") else "Registered"
        return NodeStatus(word, Tone.NORMAL, ABSENT_NS, "its node cannot be shown: nodes may not be listed", 8)
    return NodeStatus(
        "Node gone",
        Tone.FAULT,
        ABSENT_NS,
        f"the NodeClaim expects node {claim.node_name or '?'}, which does not exist",
        0,
    )


def _leaving(node: Node, claim: NodeClaim | None, *, may_see_claims: bool) -> NodeStatus:
    since = min(item.deletion_ns for item in (node, claim) if item is not None and item.is_deleting)
    if claim is None:
        unseen = "its NodeClaim cannot be shown: NodeClaims may not be listed"
        text = unseen if not may_see_claims else "the Node is being deleted, but a finalizer remains"
        return NodeStatus("Deleting", Tone.LEAVING, since, text, 2)
    stage = deletion_stage(claim, node)[0] if claim.is_deleting else DrainStage.DELETING
    if stage is DrainStage.DELETING:
        return NodeStatus("Deleting", Tone.LEAVING, since, "its drain has not begun", 2)
    if stage is DrainStage.INSTANCE:
        step = "being terminated" if claim.is_true("InstanceTerminating") else "terminated next"
        return NodeStatus("Terminating", Tone.LEAVING, since, f"drained; the instance is {step}", 3)
    if stage is DrainStage.VOLUMES:
        return NodeStatus("Detaching", Tone.LEAVING, since, "drained; volumes are being detached", 3)
    text = _message_of(claim.condition("Drained"))
    return NodeStatus("Draining", Tone.LEAVING, since, text or "it is being drained", 2)


def _rebooting(claim: NodeClaim) -> NodeStatus:
    condition = claim.condition(REBOOTING)
    assert condition is not None
    if condition.reason == _REBOOT_ISSUED:
        step = "its instance is restarting, and deleted if not back within 20m"
    else:
        bound = _reboot_bound(claim)
        until = f" after at most {bound} with its remaining pods" if bound else ""
        step = f"Karpenter evicts its pods, then reboots it{until}"
    about = f" ({text.removeprefix('rebooting ')})" if (text := _message_of(condition)) else ""
    return NodeStatus("Rebooting", Tone.WARNING, condition.last_transition_ns, f"{step}{about}", 3)


def _reboot_bound(claim: NodeClaim) -> str:
    """Return the maximum drain time before a reboot, or an empty string if unbounded."""
    try:
        bound_ns = parse_duration(claim.annotations.get(karpenter_labels.REBOOT_GRACE_PERIOD, ""))
    except DurationError:
        return ""
    return span_text(max(bound_ns, _LEAST_REBOOT_DRAIN_NS)) if bound_ns else ""


def _starting(node: Node, claim: NodeClaim | None) -> NodeStatus | None:
    """Return the unfinished startup step of a NodeClaim; None if it has finished or the node is unmanaged."""
    if claim is None or claim.is_true("Initialized"):
        return None
    if not claim.is_true("Registered"):
        text = _message_of(claim.condition("Registered"))
        return NodeStatus(
            "Registering", Tone.ACTIVE, claim.created_ns, text or "Karpenter has not linked it to its NodeClaim yet", 5
        )
    text = _message_of(claim.condition("Initialized"))
    startup = [taint.key for taint in claim.startup_taints if any(taint.key == t.key for t in node.taints)]
    waits = (
        f"waiting for startup taint {', '.join(startup)}" if startup else "waiting to be ready with all its resources"
    )
    return NodeStatus("Initializing", Tone.ACTIVE, claim.created_ns, text or waits, 5)


def _not_ready(ready: Condition | None, *, is_cordoned: bool) -> NodeStatus:
    also = "; cordoned as well" if is_cordoned else ""
    if ready is None:
        return NodeStatus("NotReady", Tone.FAULT, ABSENT_NS, f"the kubelet has not reported yet{also}", 0)
    message = ready.message or ready.reason or "the kubelet does not report it ready"
    return NodeStatus("NotReady", Tone.FAULT, ready.last_transition_ns, f"{message}{also}", 0)


def _reason_ns(claim: NodeClaim | None) -> int:
    reason = claim.condition(DISRUPTION_REASON) if claim is not None else None
    return reason.last_transition_ns if reason is not None else ABSENT_NS


def _message_of(condition: Condition | None) -> str:
    """Return a condition's message, or an empty string if it was not tried yet."""
    if condition is None or is_untried(condition):
        return ""
    return condition.message if condition.message != condition.reason else ""
