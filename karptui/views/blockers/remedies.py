"""Remedies for blockers, as YAML and commands."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from karptui.decode.kinds import WORKLOAD_KINDS
from karptui.karpenter.labels import DO_NOT_DISRUPT, NODEPOOL
from karptui.kube.group import group_by
from karptui.session.blockers import BlockerEntry
from karptui.state.cluster import ClusterState
from karptui.views.sanitize import clean
from karptui.whatif.edits import PutObject, ScaleWorkload, SetField
from karptui.whatif.edits.document import taint_document, toleration_document
from karptui.whatif.remedies.blockers.offered import blocker_remedies
from karptui.whatif.remedies.blockers.protected_pods import PROTECTED_TAINT, PROTECTED_TOLERATION, own_pool_name
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind, ChangedObjects

MOST_NAMES: Final = 20
"""Maximum number of objects in a command."""


def objects_of(state: ClusterState) -> ChangedObjects:
    """Return the objects of a cluster that remedies change."""
    workloads = (f"{kind}/{key}" for kind in WORKLOAD_KINDS for key in state.of(kind))
    return ChangedObjects(
        state.pods,
        state.nodepools,
        state.pdbs,
        frozenset(workloads),
        nodes=state.nodes.values(),
        nodeclaims=state.nodeclaims.values(),
    )


def remedies(
    members: Sequence[BlockerEntry], objects: ChangedObjects, now_ns: int, *, makes_edits: bool = True
) -> tuple[BlockerRemedy, ...]:
    """Return the remedies for blockers."""
    members = [member for member in members if member.blocker.is_wanted]
    findings = {member.findings.key: member.findings for member in members if member.findings is not None}
    blockers = [member.blocker for member in members]
    return blocker_remedies(blockers, objects, findings, now_ns, makes_edits=makes_edits)


def remedy_text(remedy: BlockerRemedy, members: Sequence[BlockerEntry]) -> str:
    """Return the YAML and the commands of a remedy, to read and copy."""
    lines = [f"# {clean(remedy.title)}", f"# {remedy.sentence}", _TEXTS[remedy.kind](members, remedy)]
    return "\n".join(lines)


def _quoted(names: Iterable[str]) -> str:
    unique = list(dict.fromkeys(clean(name) for name in names if name))
    more = f"  # and {len(unique) - MOST_NAMES} more" if len(unique) > MOST_NAMES else ""
    return " ".join(map(shlex.quote, unique[:MOST_NAMES])) + more


def _pools(members: Sequence[BlockerEntry]) -> list[str]:
    return list(dict.fromkeys(clean(member.blocker.pool_name) for member in members if member.blocker.pool_name))


def _of(members: Sequence[BlockerEntry], code: str) -> list[BlockerEntry]:
    return [member for member in members if member.blocker.code == code]


def _cordon(members: Sequence[BlockerEntry], _: BlockerRemedy) -> str:
    nodes = (entry.blocker.node_name for entry in _of(members, "POD_DND") if not entry.blocker.blocks_drain)
    return f"kubectl cordon {_quoted(nodes)}"


def _own_pool(members: Sequence[BlockerEntry], remedy: BlockerRemedy) -> str:
    name = own_pool_name(next(iter(_pools(members)), "POOL"))
    taint = _flow(taint_document(PROTECTED_TAINT))
    written = next((edit.text for edit in remedy.edits if isinstance(edit, PutObject)), "")
    pool = clean_document(written) or (
        f"# a copy of the NodePool with these lines\napiVersion: karpenter.sh/v1\nkind: NodePool\n"
        f"metadata: {{name: {name}}}\nspec: {{template: {{spec: {{taints: [{taint}]}}}}}}"
    )
    toleration = _flow(toleration_document(PROTECTED_TOLERATION))
    pods = f"spec:\n  nodeSelector: {{{NODEPOOL}: {name}}}\n  tolerations: [{toleration}]"
    return f"{pool}\n---\n# in the template of the pods\n{pods}"


def clean_document(text: str) -> str:
    """Return a document without what does not belong on a terminal, line by line."""
    return "\n".join(clean(line) for line in text.rstrip().split("\n"))


def _flow(value: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {json.dumps(text)}" for key, text in value.items()) + "}"


def _grace(members: Sequence[BlockerEntry], remedy: BlockerRemedy) -> str:
    patch = {"spec": {"template": {"spec": {"terminationGracePeriod": remedy.value}}}}
    text = shlex.quote(json.dumps(patch, separators=(",", ":")))
    pools = _pools(_of(members, "POD_DND"))
    return "\n".join(f"kubectl patch nodepool {shlex.quote(pool)} --type merge -p {text}" for pool in pools)


def _priority(_: Sequence[BlockerEntry], remedy: BlockerRemedy) -> str:
    return (
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: preemptible}\n"
        f"value: {remedy.value}\n---\n# in the template of the pods\nspec:\n  priorityClassName: preemptible"
    )


def _spread(_: Sequence[BlockerEntry], remedy: BlockerRemedy) -> str:
    rules = [rule for edit in remedy.edits[:1] if isinstance(edit, SetField) for rule in edit.value]
    lines = "\n".join(f"  - {clean(json.dumps(rule))}" for rule in rules)
    return f"# in the template of the pods\nspec:\n  topologySpreadConstraints:\n{lines}"


def _no_annotation(members: Sequence[BlockerEntry], _: BlockerRemedy) -> str:
    namespaces = group_by(_of(members, "POD_DND"), lambda member: member.namespace)
    return "\n".join(
        f"kubectl -n {shlex.quote(clean(namespace))} annotate pod"
        f" {_quoted(member.blocker.object_key.partition('/')[2] for member in held)} {DO_NOT_DISRUPT}-"
        for namespace, held in namespaces.items()
    )


def _no_node_annotation(members: Sequence[BlockerEntry], _: BlockerRemedy) -> str:
    nodes = _quoted(entry.blocker.node_name for entry in _of(members, "NODE_DND"))
    return f"kubectl annotate node {nodes} {DO_NOT_DISRUPT}-"


def _allow(members: Sequence[BlockerEntry], _: BlockerRemedy) -> str:
    lines = []
    for key in dict.fromkeys(entry.blocker.value for entry in _of(members, "PDB_EXHAUSTED")):
        namespace, _sep, name = clean(key).partition("/")
        patch = shlex.quote('{"spec":{"minAvailable":null,"maxUnavailable":1}}')
        lines.append(f"kubectl -n {shlex.quote(namespace)} patch pdb {shlex.quote(name)} --type merge -p {patch}")
    return "\n".join(lines)


def _scale(_: Sequence[BlockerEntry], remedy: BlockerRemedy) -> str:
    edits = [edit for edit in remedy.edits if isinstance(edit, ScaleWorkload)]
    return "\n".join(
        f"kubectl -n {shlex.quote(clean(edit.object.namespace))} scale {edit.object.kind.lower()}"
        f" {shlex.quote(clean(edit.object.name))} --replicas {edit.replicas}"
        for edit in edits
    )


def _several(members: Sequence[BlockerEntry], _: BlockerRemedy) -> str:
    lines = []
    for value in dict.fromkeys(entry.blocker.value for entry in _of(members, "PDB_MULTIPLE")):
        budgets = [clean(key).partition("/") for key in value.split()]
        lines += [
            f"kubectl -n {shlex.quote(namespace)} get pdb {shlex.quote(name)}" for namespace, _sep, name in budgets
        ]
    return "\n".join(lines)


def _from_edits(_: Sequence[BlockerEntry], remedy: BlockerRemedy) -> str:
    lines = []
    for edit in remedy.edits:
        assert isinstance(edit, SetField)
        patch = edit.value
        for name in reversed(edit.path):
            patch = {str(name): patch}
        text = shlex.quote(json.dumps(patch, separators=(",", ":")))
        lines.append(f"kubectl patch nodepool {shlex.quote(clean(edit.object.name))} --type merge -p {text}")
    return "\n".join(lines)


def _budget_patch(_: Sequence[BlockerEntry], remedy: BlockerRemedy) -> str:
    """Return JSON patches of single fields, which fail if the field has changed."""
    operations: dict[str, list[dict[str, str]]] = {}
    for edit, before in zip(remedy.edits, remedy.before, strict=True):
        assert isinstance(edit, SetField)
        path = "".join(f"/{name}" for name in edit.path)
        operations.setdefault(clean(edit.object.name), []).extend(
            {"op": op, "path": path, "value": clean(value)} for op, value in (("test", before), ("replace", edit.value))
        )
    return "\n".join(
        f"kubectl patch nodepool {shlex.quote(name)} --type json -p"
        f" {shlex.quote(json.dumps(operation, separators=(',', ':')))}"
        for name, operation in operations.items()
    )


_TEXTS: Final[Mapping[BlockerRemedyKind, Callable[[Sequence[BlockerEntry], BlockerRemedy], str]]] = {
    BlockerRemedyKind.OWN_POOL: _own_pool,
    BlockerRemedyKind.CORDON: _cordon,
    BlockerRemedyKind.DURATION: lambda _, remedy: (
        f'# in the template of the pods\nmetadata:\n  annotations: {{{DO_NOT_DISRUPT}: "{remedy.value}"}}'
    ),
    BlockerRemedyKind.GRACE: _grace,
    BlockerRemedyKind.PRIORITY: _priority,
    BlockerRemedyKind.SPREAD: _spread,
    BlockerRemedyKind.REMOVE_ANNOTATION: _no_annotation,
    BlockerRemedyKind.REMOVE_NODE_ANNOTATION: _no_node_annotation,
    BlockerRemedyKind.ALLOW_EVICTION: _allow,
    BlockerRemedyKind.MORE_REPLICAS: _scale,
    BlockerRemedyKind.ONE_PDB: _several,
    BlockerRemedyKind.WIDER_BUDGET: _budget_patch,
    BlockerRemedyKind.NODE_LIMIT: _from_edits,
}
