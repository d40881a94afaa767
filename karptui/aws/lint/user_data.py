"""Kubelet settings in userData: Karpenter never reads them, yet some of them take effect on the node.

Karpenter renders userData itself: it writes its own maxPods last on AL2, AL2023, Bottlerocket and Windows, and leaves
userData of Custom families alone; reservations and eviction thresholds in userData stay on the node wherever
``spec.kubelet`` has none. Source: pkg/providers/amifamily/bootstrap of Karpenter's AWS provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from karptui.aws.lint.finding import Finding, Severity
from karptui.aws.lint.kubelet_settings import KubeletSetting, kubelet_settings
from karptui.aws.nodeclass import KIND, Ec2NodeClass
from karptui.kube.quantity import QuantityError, parse_quantity

RULE = "kubelet-settings-in-userdata"
_FIELD: Final = "spec.userData"


def user_data_settings(nodeclass: Ec2NodeClass) -> tuple[Finding, ...]:
    """Find kubelet settings in userData that ``spec.kubelet`` does not have, or has otherwise."""
    found = kubelet_settings(nodeclass.spec.user_data or "")
    pods = [_max_pods(nodeclass, one) for one in found if one.field == "maxPods"]
    return (*filter(None, pods), *_reservations(nodeclass, [one for one in found if one.field != "maxPods"]))


def _max_pods(nodeclass: Ec2NodeClass, setting: KubeletSetting) -> Finding | None:
    planned = nodeclass.kubelet.max_pods
    if planned is not None and str(planned) == setting.value:
        return None
    family = nodeclass.family
    plan = f"spec.kubelet.maxPods {planned}" if planned is not None else "the limit of the type's network interfaces"
    if not family.owns_max_pods:
        consequence = f"the node takes {setting.value} pods, and Karpenter plans with {plan}"
    elif setting.is_flag:
        consequence = f"the flag outweighs what Karpenter writes to the node, and Karpenter plans with {plan}"
    else:
        consequence = f"Karpenter overwrites it on the node and plans with {plan}"
    return _finding(
        nodeclass,
        f"userData sets maxPods {setting.value} ({setting.place}), which Karpenter does not read: {consequence}.",
        f"Set spec.kubelet.maxPods: {setting.value} in the EC2NodeClass and take it out of userData.",
    )


def _reservations(nodeclass: Ec2NodeClass, settings: Iterable[KubeletSetting]) -> Iterable[Finding]:
    planned = _planned(nodeclass)
    hidden: dict[str, list[KubeletSetting]] = {}
    for one in settings:
        given = planned[one.field].get(one.key)
        is_overwritten = given is not None and nodeclass.family.owns_max_pods and not one.is_flag
        if not is_overwritten and not _is_same(given, one.value):
            hidden.setdefault(one.field, []).append(one)
    return [_hidden(nodeclass, field, found, planned[field]) for field, found in hidden.items()]


def _planned(nodeclass: Ec2NodeClass) -> dict[str, Mapping[str, str]]:
    """Return what Karpenter knows of, by field and key."""
    kubelet = nodeclass.kubelet
    return {
        "kubeReserved": kubelet.kube_reserved or {},
        "systemReserved": kubelet.system_reserved or {},
        "evictionHard": kubelet.eviction_hard or {},
        "podsPerCore": {} if kubelet.pods_per_core is None else {"": str(kubelet.pods_per_core)},
    }


def _hidden(nodeclass: Ec2NodeClass, field: str, found: list[KubeletSetting], planned: Mapping[str, str]) -> Finding:
    listed = ", ".join(f"{one.key} {one.value}".strip() for one in found)
    places = ", ".join(dict.fromkeys(one.place for one in found))
    said = [f"{one.key} {planned[one.key]}".strip() for one in found if one.key in planned]
    against = f"; spec.kubelet.{field} says {', '.join(said)}" if said else ""
    return _finding(
        nodeclass,
        f"userData sets {field} {listed} ({places}), which Karpenter does not read{against}: "
        "nodes may offer less, or more, than it plans with.",
        f"Set spec.kubelet.{field} in the EC2NodeClass and take it out of userData.",
    )


def _is_same(given: str | None, found: str) -> bool:
    """Return whether two spellings mean one amount."""
    if given is None or given == found:
        return given == found
    try:
        return parse_quantity(given).nano == parse_quantity(found).nano
    except QuantityError:
        return False


def _finding(nodeclass: Ec2NodeClass, fact: str, remedy: str) -> Finding:
    return Finding(
        rule=RULE,
        severity=Severity.WARNING,
        object=f"{KIND} {nodeclass.name}",
        field=_FIELD,
        fact=fact,
        remedy=remedy,
    )
