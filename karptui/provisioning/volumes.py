"""What a pod's volumes ask of its node: where it may be, and how many attachments it takes.

Rules: ``pkg/controllers/provisioning/scheduling/volumetopology.go`` and ``pkg/scheduling/volumeusage.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    """A volume whose claim, volume or class cannot be found."""


class VolumeLimits:
    """How many volumes each driver attaches to a node.

    The node's CSINode decides. Since 1.15 the instance type's limit applies to drivers that the CSINode does not list,
    if the node's NodePool is eligible for scheduling: Karpenter resolves no types of other NodePools.
    """

    def __init__(self, inventory: Inventory, types: Mapping[str, Sequence[InstanceType]], rules: Rules) -> None:
        """Read the limits of a cluster.

        Args:
            inventory: The cluster.
            types: Instance types of the NodePools that are eligible for scheduling, by name.
            rules: Rules of the Karpenter version.
        """
        self._nodes = {node.name: node for node in inventory.csi_nodes}
        self._rules = rules
        self._types: dict[tuple[str, str], Mapping[str, int]] = {}
        if rules.types_limit_volumes:
            for pool, own in types.items():
                self._types.update(((pool, one.name), one.volume_limits) for one in own if one.volume_limits)

    def of(self, state: StateNode) -> Mapping[str, int]:
        """Return the limits of a node by driver; a driver that is missing is not limited."""
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
        self._missing: dict[str, tuple[Pod, bool]] = {}
        """By uid, whether any volume object of a pod is missing."""

    def is_missing(self, pod: Pod) -> bool:
        """Return whether a claim, a bound volume or a storage class of a pod does not exist."""
        known = self._missing.get(pod.uid)
        if known is None or known[0] is not pod:
            try:
                self.alternatives(pod)
            except VolumeLookupError:
                known = (pod, True)
            else:
                known = (pod, False)
            self._missing[pod.uid] = known
        return known[1]

    def _claim(self, pod: Pod, volume: PodVolume) -> PersistentVolumeClaim | None:
        """Return the claim of a volume; None where claims were not read."""
        name = volume.claim_of(pod.name)
        claim = self._claims.get((pod.namespace, name))
        if claim is None and CLAIM not in self._unread:
            missing = f'getting persistent volume claim, persistentvolumeclaims "{name}" not found'
            raise VolumeLookupError(f"{missing} (PersistentVolumeClaim={name})")
        return claim

    def _volume(self, name: str) -> PersistentVolume | None:
        """Return a volume; None where volumes were not read."""
        volume = self._volumes.get(name)
        if volume is None and VOLUME not in self._unread:
            raise VolumeLookupError(f'persistentvolumes "{name}" not found')
        return volume

    def alternatives(self, pod: Pod) -> tuple[Requirements, ...]:
        """Return where a pod's volumes can be reached, as alternatives to try in order; none is everywhere.

        Raises:
            VolumeLookupError: when a claim, a bound volume or a storage class does not exist.
        """
        found: list[Requirements | None] = [None]
        for volume in pod.volumes:
            claim = self._claim(pod, volume)
            own = list(self._alternatives_of(claim)) if claim is not None else []
            if own:
                found = _combine(found, own)
        return tuple(one for one in found if one is not None)

    def reach(self, pod: Pod) -> tuple[tuple[str, tuple[Requirements, ...]], ...]:
        """Return for each volume of a pod that is not to be had everywhere its claim, and where it can be reached.

        Raises:
            VolumeLookupError: when a claim, a bound volume or a storage class does not exist.
        """
        claims = [claim for volume in pod.volumes if (claim := self._claim(pod, volume)) is not None]
        found = ((claim.key, tuple(self._alternatives_of(claim))) for claim in claims)
        return tuple((key, own) for key, own in found if own)

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

    def attachments(self, pod: Pod) -> Attachments:
        """Return the attachments that count against drivers' limits; missing claims and classes do not.

        Raises:
            VolumeLookupError: when a claim is bound to a volume that does not exist.
        """
        found = set()
        for volume in pod.volumes:
            claim = self._claims.get((pod.namespace, volume.claim_of(pod.name)))
            if claim is not None:
                driver = self._driver(claim)
                if driver:
                    found.add((driver, claim.key))
        return tuple(sorted(found))

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
        """Return why a pending pod's volumes keep Karpenter from looking at it, empty if nothing does.

        Args:
            pod: The pod.
            is_scheduler: Whether kube-scheduler is asked, whose VolumeBinding does not mind a volume that is going.
        """
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
    """Return the kinds that were not read and without which volumes of pods bind to no zone or count to no limit."""
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
            # A local volume's pod is moved without its data, so the node it was on does not bind it.
            expressions = tuple(one for one in expressions if one.key != HOSTNAME)
            if term.match_expressions and not expressions:
                yield Requirements()
                continue
        if expressions:
            yield Requirements.from_selectors(expressions)


def _combine(found: list[Requirements | None], own: list[Requirements]) -> list[Requirements | None]:
    """Return every pair that can be met together; if none can, every pair, which then fails at placement."""
    pairs = [(one, other) for one in found for other in own]
    kept = [(one, other) for one, other in pairs if one is None or one.intersects(other)]
    return [other if one is None else one.merge(other) for one, other in kept or pairs]
