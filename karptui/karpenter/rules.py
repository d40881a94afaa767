"""The rules that differ between the versions of Karpenter that are modelled, each a switch by its name.

Where one of them decides, the rule of one version stands beside that of the other.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


class Rules(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How one version of Karpenter decides."""

    version: str
    """The version that is modelled."""
    has_room_apart: bool = True
    """Whether a reservation without room is still on offer, but cannot be launched into."""
    types_limit_volumes: bool = True
    """Whether an instance type may limit the volumes that each driver attaches, where its node does not tell."""
    has_default_spread: bool = True
    """Whether pods without topology spread constraints get those of ``SCHEDULER_CONFIG``."""
    has_repair_method: bool = True
    """Whether unhealthy nodes are repaired by a method of disruption, not by a controller of its own."""
    reboots: bool = True
    """Whether nodes are rebooted in place, which the condition Rebooting of a NodeClaim says."""
    has_terminate_first: bool = True
    """Whether the gates TerminateFirstDrift and TerminateFirstRepair are known."""
    says_static_limit: bool = True
    """Whether StaticDrift says that ``limits.nodes`` leaves no room for a replacement."""
    has_whole_costs: bool = True
    """Whether pod deletion costs are whole numbers of 32 bits, and ``karpenter.sh/disruption-cost`` goes first."""
    manages_costs: bool = True
    """Whether the gate PodDeletionCostManagement is known."""
    counts_allowed_values: bool = True
    """Whether ``minValues`` counts only those values of a type that the claim still allows."""
    asks_deleting_first: bool = True
    """Whether a node that goes is reported before one that is not initialised."""
    provider_tables: str = "1.15.1"
    """The release of the AWS provider whose tables of network limits count."""
    evaluates_kubelet: bool = True
    """Whether amounts of an EC2NodeClass's ``spec.kubelet`` may be CEL expressions."""
    has_dra_devices: bool = True
    """Whether the AWS provider's gates DRANVIDIAGPU and DRAEFA are known."""
    nodeclass_hash: str = "v6"
    """The version of the hash by which EC2NodeClasses drift."""
    overrides_replace: bool = True
    """Whether an offering's own capacity and overhead replace the type's, rather than add to them."""
    crds: str = "1.15.1"
    """The release whose CustomResourceDefinitions manifests are held to, and whose defaults are filled in."""


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
"""Every record, oldest first."""
VERSION_SETTING: Final = "KARPENTER_VERSION"
"""How a what-if calls the version among Karpenter's settings; no variable of its environment has this name."""


def rules_for(version: str) -> Rules:
    """Return the rules of a version of Karpenter: of one that is not modelled the nearest, of an unknown the newest."""
    asked = _parts(version)
    if not asked:
        return NEWEST
    return next((rules for rules in reversed(MODELLED) if _parts(rules.version) <= asked), MODELLED[0])


def is_modelled(version: str) -> bool:
    """Return whether a version's own rules are modelled: any release of a minor version that is."""
    return _parts(version)[:2] in {_parts(rules.version)[:2] for rules in MODELLED}


def _parts(version: str) -> tuple[int, ...]:
    """Return major, minor and patch; nothing where there are none."""
    match = _VERSION.match(version)
    return tuple(int(part or 0) for part in match.groups()) if match is not None else ()


def version_note(version: str) -> str:
    """Return what to say of the version that is modelled, empty where it is the one that was found."""
    modelled = rules_for(version).version
    if not version:
        return f"Karpenter's version is not known: {modelled} is modelled, --karpenter-version sets it"
    return "" if is_modelled(version) else f"Karpenter {version} is not modelled: {modelled} is, the nearest"
