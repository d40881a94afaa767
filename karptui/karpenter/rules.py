"""Rules that differ between the modelled Karpenter versions, as named switches."""

from __future__ import annotations

import re
from typing import Final

import msgspec

_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


class Rules(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Behaviour of a Karpenter version."""

    version: str
    has_room_apart: bool = True
    """Whether a reservation without free capacity is still offered, but cannot be launched."""
    types_limit_volumes: bool = True
    """Whether an instance type may limit volumes per CSI driver if its node reports no limit."""
    has_default_spread: bool = True
    """Whether pods without topology spread constraints get the defaults in ``SCHEDULER_CONFIG``."""
    has_repair_method: bool = True
    """Whether unhealthy nodes are repaired by a disruption method instead of a separate controller."""
    reboots: bool = True
    """Whether nodes are rebooted in place, shown by the NodeClaim condition Rebooting."""
    has_terminate_first: bool = True
    """Whether the feature gates TerminateFirstDrift and TerminateFirstRepair exist."""
    says_static_limit: bool = True
    """Whether StaticDrift reports that ``limits.nodes`` leaves no room for a replacement."""
    has_whole_costs: bool = True
    """Whether pod deletion costs must be 32-bit integers, and ``karpenter.sh/disruption-cost`` overrides them."""
    manages_costs: bool = True
    """Whether the feature gate PodDeletionCostManagement exists."""
    counts_allowed_values: bool = True
    """Whether ``minValues`` counts only values of a type that the claim still allows."""
    asks_deleting_first: bool = True
    """Whether a node being deleted is reported before one that is not initialized."""
    provider_tables: str = "1.15.1"
    """Release of the AWS provider whose tables of network limits apply."""
    evaluates_kubelet: bool = True
    """Whether amounts in an EC2NodeClass's ``spec.kubelet`` may be CEL expressions."""
    has_dra_devices: bool = True
    """Whether the AWS provider's feature gates DRANVIDIAGPU and DRAEFA exist."""
    nodeclass_hash: str = "v6"
    """Version of the hash that detects EC2NodeClass drift."""
    overrides_replace: bool = True
    """Whether an offering's capacity and overhead replace the type's instead of adding to them."""
    crds: str = "1.15.1"
    """Release whose CustomResourceDefinitions validate manifests and set defaults."""


RULES_1_15: Final = Rules(version="1.15.0")
RULES_1_14_1: Final = Rules(
    version="1.14.1",
    has_room_apart=False,
    types_limit_volumes=False,
    has_default_spread=False,
    has_repair_method=False,
    reboots=False,
    has_terminate_first=False,
    says_static_limit=False,
    has_whole_costs=False,
    manages_costs=False,
    counts_allowed_values=False,
    asks_deleting_first=False,
    provider_tables="1.14.1",
    evaluates_kubelet=False,
    has_dra_devices=False,
    nodeclass_hash="v5",
    overrides_replace=False,
    crds="1.14.1",
)
RULES_1_14_3: Final = msgspec.structs.replace(RULES_1_14_1, version="1.14.3", counts_allowed_values=True)
NEWEST: Final = RULES_1_15
MODELLED: Final = (RULES_1_14_1, RULES_1_14_3, RULES_1_15)
"""All rules, oldest version first."""
VERSION_SETTING: Final = "KARPENTER_VERSION"
"""Name of the version among Karpenter's settings in a what-if; not an environment variable of Karpenter."""


def rules_for(version: str) -> Rules:
    """Return the rules of a Karpenter version: the nearest if it is not modelled, the newest if it is unknown."""
    parts = _parts(version)
    if not parts:
        return NEWEST
    return next((rules for rules in reversed(MODELLED) if _parts(rules.version) <= parts), MODELLED[0])


def is_modelled(version: str) -> bool:
    """Return whether a version is modelled: any release of a modelled minor version."""
    return _parts(version)[:2] in {_parts(rules.version)[:2] for rules in MODELLED}


def is_older(version: str, than: str) -> bool:
    """Return whether a version is older than another; False if it is not known."""
    return bool(_parts(version)) and _parts(version) < _parts(than)


def _parts(version: str) -> tuple[int, ...]:
    match = _VERSION.match(version)
    return tuple(int(part or 0) for part in match.groups()) if match is not None else ()


def version_note(version: str) -> str:
    """Return a note if another version than the running one is modelled, otherwise an empty string."""
    modelled = rules_for(version).version
    if not version:
        return f"Karpenter's version is unknown: {modelled} is modelled, --karpenter-version sets it"
    return "" if is_modelled(version) else f"Karpenter {version} is not modelled: the nearest, {modelled}, is used"
