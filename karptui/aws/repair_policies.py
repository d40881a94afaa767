"""Repair policies of the AWS provider v1.15.1, and the seven older ones used with ``LEGACY_NODE_REPAIR``.

Source: ``pkg/cloudprovider/cloudprovider.go`` of karpenter-provider-aws.
"""

from __future__ import annotations

from typing import Final

from karptui.karpenter.repair_policies import RepairAction, RepairPolicy
from karptui.karpenter.settings import Settings
from karptui.kube.timestamps import MINUTE_NS

REBOOT_GATE: Final = "RebootForRepair"
_ACCELERATOR: Final = "AcceleratedHardwareReady"
_OTHERS: Final = ("StorageReady", "NetworkingReady", "KernelReady", "ContainerRuntimeReady")
_ANY: Final = ".*"
_REBOOTED: Final = ".*XID(46|48|54|62|63|95|109|110|136|140|143|155|156|158).*"
_REPLACED: Final = ".*XID(64|74|79|119|120).*"


def aws_repair_policies(settings: Settings) -> tuple[RepairPolicy, ...]:
    """Return the policies in the provider's order."""
    if settings.legacy_node_repair or not settings.rules.has_repair_method:
        return _LEGACY
    reboots = RepairAction.REBOOT if settings.aws_gates.get(REBOOT_GATE, False) else RepairAction.REPLACE
    return (
        _policy("Ready", "False", _ANY, 30, 10),
        _policy("Ready", "Unknown", _ANY, 30, 10),
        _policy(_ACCELERATOR, "False", _REBOOTED, 10, 5, action=reboots),
        _policy(_ACCELERATOR, "False", _REPLACED, 10, 5),
        _policy(_ACCELERATOR, "False", "", 30, 10),
        *(_policy(condition, "False", _ANY, 30, 10) for condition in _OTHERS),
    )


def _policy(
    condition: str,
    status: str,
    regex: str,
    minutes: int,
    grace_minutes: int | None = None,
    *,
    action: RepairAction = RepairAction.REPLACE,
) -> RepairPolicy:
    return RepairPolicy(
        condition_type=condition,
        condition_status=status,
        reason_regex=regex,
        toleration_ns=minutes * MINUTE_NS,
        grace_ns=None if grace_minutes is None else grace_minutes * MINUTE_NS,
        action=action,
    )


_LEGACY: Final = (
    _policy("Ready", "False", "", 30),
    _policy("Ready", "Unknown", "", 30),
    _policy(_ACCELERATOR, "False", "", 10),
    *(_policy(condition, "False", "", 30) for condition in _OTHERS),
)
