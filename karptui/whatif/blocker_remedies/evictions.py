"""What can be done about pods that PodDisruptionBudgets keep from being evicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from karptui.disruption.analysis import NodeFindings
from karptui.disruption.blocker import Blocker
from karptui.whatif.blocker_remedies.effect import effect_of
from karptui.whatif.blocker_remedies.remedy import BlockerRemedy, Objects, RemedyKind, ref_of
from karptui.whatif.edits import AnyEdit, DeleteObject, ObjectRef, ScaleWorkload, SetField

_SCALED: Final = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"})


def exhausted_remedies(
    blockers: Sequence[Blocker], objects: Objects, findings: Mapping[str, NodeFindings], *, makes_edits: bool = True
) -> Iterator[BlockerRemedy]:
    """Yield what can be done about PodDisruptionBudgets that allow nothing.

    Args:
        blockers: ``PDB_EXHAUSTED`` blockers; their value is the budget's ``namespace/name``.
        objects: The cluster's objects.
        findings: By key, as in an analysis.
        makes_edits: Whether pods are counted to scale their workload.
    """
    effect = effect_of(blockers, findings)
    edits: list[AnyEdit] = []
    for key in dict.fromkeys(one.value for one in blockers):
        ref = _pdb_ref(key)
        if key in objects.pdbs:
            if objects.pdbs[key].min_available is not None:
                edits.append(SetField(ref, ("spec", "minAvailable"), None))
            edits.append(SetField(ref, ("spec", "maxUnavailable"), 1))
    yield BlockerRemedy(
        RemedyKind.ALLOW_EVICTION,
        "maxUnavailable: 1 lets pods go one at a time; unhealthyPodEvictionPolicy: AlwaysAllow lets those go that are"
        " not ready.",
        tuple(edits),
        effect,
    )
    owners = _counting_owners(blockers, objects)
    if owners:
        yield BlockerRemedy(
            RemedyKind.MORE_REPLICAS,
            "With one pod more than minAvailable asks for, one may be evicted.",
            tuple(_one_more(owners, objects)) if makes_edits else (),
        )


def several_remedies(
    blockers: Sequence[Blocker], objects: Objects, findings: Mapping[str, NodeFindings]
) -> Iterator[BlockerRemedy]:
    """Yield what can be done about pods that several PodDisruptionBudgets select.

    Args:
        blockers: ``PDB_MULTIPLE`` blockers; their value is the budgets' ``namespace/name``, a blank between.
        objects: The cluster's objects.
        findings: By key, as in an analysis.
    """
    spare = dict.fromkeys(key for one in blockers for key in one.value.split()[1:])
    yield BlockerRemedy(
        RemedyKind.ONE_PDB,
        "A pod that two PodDisruptionBudgets select can never be evicted, whatever they allow: delete one, or narrow"
        " its selector.",
        tuple(DeleteObject(_pdb_ref(key)) for key in spare if key in objects.pdbs),
        effect_of(blockers, findings),
    )


def _pdb_ref(key: str) -> ObjectRef:
    namespace, _, name = key.partition("/")
    return ObjectRef("PodDisruptionBudget", name, namespace)


def _counting_owners(blockers: Sequence[Blocker], objects: Objects) -> dict[str, str]:
    """Return the workloads behind pods whose budget asks for a number of pods, with the key of one pod each."""
    return {
        one.owner: one.object_key
        for one in blockers
        if one.owner in objects.workloads
        and one.owner.partition("/")[0] in _SCALED
        and one.object_key in objects.pods
        and one.value in objects.pdbs
        and isinstance(objects.pdbs[one.value].min_available, int)
    }


def _one_more(owners: Mapping[str, str], objects: Objects) -> Iterator[ScaleWorkload]:
    """Yield for each workload an edit to one pod more than it has now."""
    counts = Counter(pod.owners for pod in objects.pods.values() if pod.is_active)
    for owner, key in owners.items():
        yield ScaleWorkload(ref_of(owner), counts[objects.pods[key].owners] + 1)
