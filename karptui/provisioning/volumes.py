"""Location and attachment limits of pods' volumes.

Rules: ``pkg/controllers/provisioning/scheduling/volumetopology.go`` and ``pkg/scheduling/volumeusage.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import HOSTNAME, INSTANCE_TYPE
from karptui.karpenter.requirements import IN, Requirement, Requirements
from karptui.karpenter.rules import Rules
from karptui.kube.pod import Pod, PodVolume
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.volumes import (
    CLAIM,
    CSI_NODE,
    IMMEDIATE,
    ONE_POD,
    STORAGE_CLASS,
    VOLUME,
    PersistentVolume,
    PersistentVolumeClaim,
)
from karptui.provisioning.state_node import StateNode

Attachments = tuple[tuple[str, str], ...]
"""Driver and claim (``namespace/name``) of each volume that counts against a driver's limit, sorted."""

_EBS_DRIVER: Final = "ebs.csi.aws.com"
_DRIVER_OF_IN_TREE: Final = {
    "kubernetes.io/aws-ebs": _EBS_DRIVER,
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"


class VolumeLookupError(LookupError):
    """A claim, volume or storage class does not exist."""


class VolumeLimits:
    """Maximum number of volumes per driver and node.

    The node's CSINode is decisive. Since 1.15 the instance type's limit applies to drivers missing in the CSINode, if
    the NodePool is active: Karpenter does not resolve types of other NodePools.
    """

    def __init__(self, inventory: Inventory, types: Mapping[str, Sequence[InstanceType]], rules: Rules) -> None:
        """Create from a cluster.

        Args:
            types: Instance types of the active NodePools, by name.
        """
        self._nodes = {node.name: node for node in inventory.csi_nodes}
        self._rules = rules
        self._types: dict[tuple[str, str], Mapping[str, int]] = {}
        if rules.types_limit_volumes:
            for pool, pool_types in types.items():
                self._types.update(
                    ((pool, instance_type.name), instance_type.volume_limits)
                    for instance_type in pool_types
                    if instance_type.volume_limits
                )

    def of(self, state: StateNode) -> Mapping[str, int]:
        """Return the limits of a node by driver; a missing driver has no limit."""
        limits: dict[str, int] = {}
        if self._types:
            limits |= self._types.get((state.nodepool_name, state.labels.get(INSTANCE_TYPE, "")), {})
        node = self._nodes.get(state.node.name) if state.node is not None else None
        for driver, count in node.driver_limits if node is not None else ():
            if count is not None:
                limits[driver] = count
            elif node is not None and driver in node.uncounted and not self._rules.types_limit_volumes:
                limits[driver] = 0
            else:
                limits.pop(driver, None)
        return limits


class VolumeIndex:
    """The volume objects of a cluster, by name."""

    def __init__(self, inventory: Inventory) -> None:
        self._claims = {(claim.namespace, claim.name): claim for claim in inventory.claims}
        self._volumes = {volume.name: volume for volume in inventory.volumes}
        self._classes = {storage_class.name: storage_class for storage_class in inventory.storage_classes}
        self._unread = inventory.unread
        self._pods = inventory.pods
        self._missing: dict[str, tuple[Pod, bool]] = {}
        """Whether any volume object of a pod is missing, by pod uid."""

    @cached_property
    def _exclusive_users(self) -> dict[tuple[str, str], Pod]:
        """The bound pod that uses a claim with access mode ReadWriteOncePod, by the claim's namespace and name."""
        exclusive = {key for key, claim in self._claims.items() if claim.is_exclusive}
        users = (pod for pod in self._pods if exclusive and pod.volumes and pod.node_name and pod.is_active)
        used = (((pod.namespace, volume.claim_of(pod.name)), pod) for pod in users for volume in pod.volumes)
        return {key: pod for key, pod in used if key in exclusive}

    def exclusive_user(self, pod: Pod) -> tuple[str, Pod] | None:
        """Return a ReadWriteOncePod claim of a pod that another pod uses, and that pod; None without one.

        kube-scheduler binds no second pod (its plugin VolumeRestrictions); Karpenter does not consider the access mode.
        """
        for volume in pod.volumes:
            claim = volume.claim_of(pod.name)
            user = self._exclusive_users.get((pod.namespace, claim))
            if user is not None and user.uid != pod.uid:
                return claim, user
        return None

    def is_missing(self, pod: Pod) -> bool:
        """Return whether a claim, a bound volume or a storage class of a pod does not exist."""
        cached = self._missing.get(pod.uid)
        if cached is None or cached[0] is not pod:
            try:
                self.alternatives(pod)
            except VolumeLookupError:
                cached = (pod, True)
            else:
                cached = (pod, False)
            self._missing[pod.uid] = cached
        return cached[1]

    def _claim(self, pod: Pod, volume: PodVolume) -> PersistentVolumeClaim | None:
        """Return the claim of a volume; None if claims were not read."""
        name = volume.claim_of(pod.name)
        claim = self._claims.get((pod.namespace, name))
        if claim is None and CLAIM not in self._unread:
            missing = f'getting persistent volume claim, persistentvolumeclaims "{name}" not found'
            raise VolumeLookupError(f"{missing} (PersistentVolumeClaim={name})")
        return claim

    def _volume(self, name: str) -> PersistentVolume | None:
        """Return a volume; None if volumes were not read."""
        volume = self._volumes.get(name)
        if volume is None and VOLUME not in self._unread:
            raise VolumeLookupError(f'persistentvolumes "{name}" not found')
        return volume

    def alternatives(self, pod: Pod) -> tuple[Requirements, ...]:
        """Return alternatives for the location of a pod's volumes, in order; empty means anywhere.

        Raises:
            VolumeLookupError: A claim, a bound volume or a storage class does not exist.
        """
        combined: list[Requirements | None] = [None]
        for volume in pod.volumes:
            claim = self._claim(pod, volume)
            alternatives = list(self._alternatives_of(claim)) if claim is not None else []
            if alternatives:
                combined = _combine(combined, alternatives)
        return tuple(alternative for alternative in combined if alternative is not None)

    def reach(self, pod: Pod) -> tuple[tuple[str, tuple[Requirements, ...]], ...]:
        """Return the claim and possible locations of each volume of a pod that is not available everywhere."""
        claims = [claim for volume in pod.volumes if (claim := self._claim(pod, volume)) is not None]
        locations = ((claim.key, tuple(self._alternatives_of(claim))) for claim in claims)
        return tuple((key, alternatives) for key, alternatives in locations if alternatives)

    def _alternatives_of(self, claim: PersistentVolumeClaim) -> Iterator[Requirements]:
        if claim.volume_name:
            volume = self._volume(claim.volume_name)
            yield from _reachable_from(volume) if volume is not None else ()
        elif claim.storage_class_name:
            storage_class = self._classes.get(claim.storage_class_name)
            if storage_class is None:
                if STORAGE_CLASS in self._unread:
                    return
                raise VolumeLookupError(f'storageclasses.storage.k8s.io "{claim.storage_class_name}" not found')
            for term in storage_class.allowed_topologies:
                if term.match_label_expressions:
                    yield Requirements(Requirement.of(key, IN, values) for key, values in term.match_label_expressions)

    def local_hosts(self, pod: Pod) -> frozenset[str] | None:
        """Return the hosts of a pod's local volumes, None for any: only Karpenter schedules such pods elsewhere."""
        hosts: frozenset[str] | None = None
        for volume in pod.volumes:
            claim = self._claims.get((pod.namespace, volume.claim_of(pod.name)))
            bound = self._volumes.get(claim.volume_name) if claim is not None else None
            if bound is None or not bound.is_local:
                continue
            terms = [Requirements.from_selectors(term.match_expressions) for term in bound.required_node_terms]
            rules = [rule for term in terms if (rule := term.find(HOSTNAME)) is not None and rule.operator == IN]
            if rules and len(rules) == len(terms):
                named = frozenset(value for rule in rules for value in rule.values)
                hosts = named if hosts is None else hosts & named
        return hosts

    def attachments(self, pod: Pod) -> Attachments:
        """Return the attachments that count against drivers' limits; missing claims and classes do not count.

        Raises:
            VolumeLookupError: A claim is bound to a volume that does not exist.
        """
        counted = set()
        for volume in pod.volumes:
            claim = self._claims.get((pod.namespace, volume.claim_of(pod.name)))
            if claim is not None:
                driver = self._driver(claim)
                if driver:
                    counted.add((driver, claim.key))
        return tuple(sorted(counted))

    def _driver(self, claim: PersistentVolumeClaim) -> str:
        if claim.volume_name:
            volume = self._volume(claim.volume_name)
            if volume is None:
                return ""
            return volume.csi_driver or (_EBS_DRIVER if volume.is_aws_ebs else "")
        storage_class = self._classes.get(claim.storage_class_name or "")
        if storage_class is None:
            return ""
        return _DRIVER_OF_IN_TREE.get(storage_class.provisioner, storage_class.provisioner)

    def problem(self, pod: Pod, *, is_scheduler: bool = False) -> str:
        """Return the reason why Karpenter ignores a pending pod because of its volumes, or an empty string.

        Args:
            is_scheduler: Whether to use kube-scheduler's rules, which accept a volume being deleted, but not a
                ReadWriteOncePod claim that another pod uses.
        """
        held = self.exclusive_user(pod) if is_scheduler else None
        if held is not None:
            return f"pod {held[1].key} uses the {ONE_POD} claim (PersistentVolumeClaim={pod.namespace}/{held[0]})"
        for volume in pod.volumes:
            try:
                claim = self._claim(pod, volume)
            except VolumeLookupError as error:
                return str(error)
            problem = self._problem_of(claim, is_scheduler=is_scheduler) if claim is not None else ""
            if problem:
                return problem
        return ""

    def _problem_of(self, claim: PersistentVolumeClaim, *, is_scheduler: bool) -> str:
        of_claim = f"PersistentVolumeClaim={claim.key}"
        of_volume = f"PersistentVolume={claim.volume_name}"
        of_class = f"StorageClass={claim.storage_class_name or ''}"
        if claim.is_deleting:
            return f"persistentvolumeclaim is being deleted ({of_claim})"
        if claim.phase == "Lost":
            return f"persistentvolumeclaim bound to non-existent persistentvolume ({of_volume}, {of_claim})"
        if claim.volume_name:
            volume = self._volumes.get(claim.volume_name)
            is_missing = volume is None and VOLUME not in self._unread
            failed = f'persistentvolumes "{claim.volume_name}" not found' if is_missing else ""
            if volume is not None and volume.is_deleting and not is_scheduler:
                failed = "persistentvolume is being deleted"
            if failed:
                return f"failed to validate pvc, {failed} ({of_volume}, {of_claim}, {of_class})"
            if _BIND_COMPLETED not in claim.annotations:
                unbound = "pvc is considered unbound because it does not contain annotation"
                return f"{unbound} ({of_volume}, PersistentVolumeClaim={claim.name}, annotation={_BIND_COMPLETED})"
            return ""
        if not claim.storage_class_name:
            return f"unbound pvc must define a storage class ({of_claim}, {of_class})"
        storage_class = self._classes.get(claim.storage_class_name)
        if storage_class is None and STORAGE_CLASS in self._unread:
            return ""
        if storage_class is None:
            missing = (
                f'failed to get storage class, storageclasses.storage.k8s.io "{claim.storage_class_name}" not found'
            )
            return f"failed to validate pvc, {missing} ({of_claim}, {of_class})"
        if storage_class.volume_binding_mode == IMMEDIATE:
            immediate = "pvc with immediate volume binding mode must be bound"
            return f"failed to validate pvc, {immediate} ({of_claim}, {of_class})"
        return ""


def unread_of_volumes(inventory: Inventory) -> tuple[str, ...]:
    """Return the kinds that were not read although pods' volumes need them for zones or limits."""
    if not inventory.unread or not any(pod.volumes for pod in inventory.pods):
        return ()
    if CLAIM in inventory.unread and not inventory.claims:
        return (CLAIM,)
    is_asked = {
        VOLUME: any(claim.volume_name for claim in inventory.claims),
        STORAGE_CLASS: any(not claim.volume_name and claim.storage_class_name for claim in inventory.claims),
        CSI_NODE: bool(inventory.nodes),
    }
    return tuple(kind for kind, asked in is_asked.items() if asked and kind in inventory.unread)


def _reachable_from(volume: PersistentVolume) -> Iterator[Requirements]:
    for term in volume.required_node_terms:
        expressions: tuple[NodeSelectorRequirement, ...] = term.match_expressions
        if volume.is_local:
            # A local volume does not tie its pod to the node: the pod is moved without its data.
            expressions = tuple(expression for expression in expressions if expression.key != HOSTNAME)
            if term.match_expressions and not expressions:
                yield Requirements()
                continue
        if expressions:
            yield Requirements.from_selectors(expressions)


def _combine(alternatives: list[Requirements | None], more: list[Requirements]) -> list[Requirements | None]:
    """Return all compatible pairs; if there are none, all pairs, which then fail to schedule."""
    pairs = [(left, right) for left in alternatives for right in more]
    compatible = [(left, right) for left, right in pairs if left is None or left.intersects(right)]
    return [right if left is None else left.merge(right) for left, right in compatible or pairs]
