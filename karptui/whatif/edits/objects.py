"""Put objects in the place of others, take them away, or change Karpenter's version, with the consequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.nodeclass import readable
from karptui.aws.nodeclass_validation import REASONS, refusal
from karptui.decode.errors import DecodeError
from karptui.decode.kinds import CLUSTER_SCOPED, Kind, kind_of
from karptui.decode.reader import KindReader
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclass import EC2_KIND, NodeClass, is_ec2
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.pod_predicates import UNSCHEDULABLE
from karptui.karpenter.rules import MODELLED, Rules, is_modelled, rules_for
from karptui.kube.objects import SERVERS_OWN, Condition, OwnerReference, cordoned, with_condition
from karptui.kube.pod import SCHEDULING_GATED, Pod
from karptui.kube.workload import DaemonSet, Workload
from karptui.kube.yaml_reader import YamlError, load_documents
from karptui.whatif.edits import EditError, ObjectRef
from karptui.whatif.edits.document import as_stored
from karptui.whatif.edits.draft import ClusterDraft
from karptui.whatif.edits.pods import (
    add_first,
    give_template,
    like_its_pods,
    read_template,
    scale,
    with_priority,
    with_status,
)

READY: Final = "Ready"


def ready(status: str, message: str = "") -> Condition:
    """Return a Ready condition."""
    return Condition(
        type=READY, status=status, reason=READY if status == "True" else "NodeClassNotReady", message=message
    )


def settle_pool(draft: ClusterDraft, pool: NodePool) -> NodePool:
    """Return a NodePool with its NodeClass's readiness; unchanged if no NodeClass of the kind is known."""
    ref = pool.node_class_ref
    nodeclass = draft.find(ObjectRef(ref.kind, ref.name)) if ref.kind.endswith("NodeClass") else None
    if nodeclass is not None:
        is_ready, why = nodeclass.is_ready, f"{ref.kind} {ref.name} is not ready"
    elif draft.is_unread(ref):
        is_ready, why = True, ""
    elif draft.touched(Kind.NODECLASS) or any(nodeclass.kind == ref.kind for nodeclass in draft.values(Kind.NODECLASS)):
        is_ready, why = False, f"there is no {ref.kind} {ref.name}"
    else:
        is_ready, why = True, ""
    if is_ready == pool.is_ready:
        return pool
    if not is_ready:
        draft.note(f"NodePool {pool.name} is not ready, so it launches nothing: {why}")
    condition = ready("True" if is_ready else "False", why if not is_ready else "")
    return replace(pool, conditions=with_condition(pool.conditions, condition))


def settle_pools_of(draft: ClusterDraft, kind: str, name: str) -> None:
    """Bring the NodePools of a NodeClass that came or went up to date."""
    for pool in list(draft.values(Kind.NODEPOOL)):
        if (pool.node_class_ref.kind, pool.node_class_ref.name) == (kind, name):
            settled = settle_pool(draft, pool)
            if settled is not pool:
                draft.put(Kind.NODEPOOL, settled)


_HASHES: Final = ("karpenter.sh/nodepool-hash", "karpenter.k8s.aws/ec2nodeclass-hash")


def put_object(draft: ClusterDraft, text: str) -> None:
    """Put the object of a YAML document in the place of the one with its kind and name, or add it."""
    document = read_document(text)
    api_version, api_kind, name = document["apiVersion"], document["kind"], document["metadata"]["name"]
    kind = kind_of(api_version, api_kind)
    if kind is None:
        draft.note(f"{api_kind} {name}: objects of this kind are not modelled, so it has no effect")
        return
    if kind not in CLUSTER_SCOPED:
        metadata = document["metadata"]
        document = {**document, "metadata": {**metadata, "namespace": metadata.get("namespace") or "default"}}
    try:
        _PUTTERS.get(kind, _put_plain)(draft, kind, document)
    except DecodeError as error:
        raise EditError(str(error)) from None


def read_document(text: str) -> dict[str, Any]:
    """Return the one object of a YAML document."""
    try:
        documents = load_documents(text.encode())
    except YamlError as error:
        raise EditError(f"the document is not YAML: {error}") from None
    if len(documents) != 1:
        raise EditError(f"the document has {len(documents)} objects, must have one")
    document = documents[0]
    if not isinstance(document, dict):
        raise EditError("the document is not an object")
    for field in ("apiVersion", "kind"):
        if not isinstance(document.get(field), str):
            raise EditError(f"the document has no {field}")
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise EditError(f"{document['kind']} (without a name): metadata.name: is missing")
    return document


def convert(kind: Kind, document: Mapping[str, Any]) -> Any:
    """Return the domain object of a document."""
    reader = KindReader(kind, api_version=str(document.get("apiVersion", "")), api_kind=str(document["kind"]))
    return reader.convert(document)


def stored(document: Mapping[str, Any], present: Mapping[str, Any] | None, crds: str) -> dict[str, Any]:
    """Return a NodePool or NodeClass as an API server would store it over the existing one.

    Status, identity and Karpenter's hash annotations of the existing object stay.
    """
    item = dict(document)
    if present is not None:
        metadata, before = dict(item["metadata"]), present.get("metadata") or {}
        metadata |= {key: value for key, value in before.items() if key in SERVERS_OWN}
        hashes = {key: value for key, value in (before.get("annotations") or {}).items() if key.startswith(_HASHES)}
        if hashes:
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **hashes}
        item["metadata"] = metadata
        item.pop("status", None)
        if "status" in present:
            item["status"] = present["status"]
    return as_stored(item, present, crds)


def _ref(document: Mapping[str, Any]) -> ObjectRef:
    metadata = document["metadata"]
    return ObjectRef(document["kind"], metadata["name"], metadata.get("namespace") or "")


def _put_plain(draft: ClusterDraft, kind: Kind, document: dict[str, Any]) -> None:
    draft.put(kind, convert(kind, document))


def _put_nodepool(draft: ClusterDraft, kind: Kind, document: dict[str, Any]) -> None:
    present = draft.find(_ref(document))
    pool = convert(kind, stored(document, None if present is None else present.raw, draft.settings.rules.crds))
    if present is None:
        pool = replace(pool, conditions=with_condition(pool.conditions, ready("True")), status_resources={})
        pool = settle_pool(draft, replace(pool, created_ns=draft.now_ns))
    else:
        pool = replace(pool, conditions=present.conditions, status_resources=present.status_resources)
        if pool.node_class_ref != present.node_class_ref:
            pool = settle_pool(draft, pool)
    draft.put(kind, pool)


def _put_nodeclass(draft: ClusterDraft, kind: Kind, document: dict[str, Any]) -> None:
    ref = _ref(document)
    present = draft.find(ref)
    nodeclass = convert(kind, stored(document, None if present is None else present.raw, draft.settings.rules.crds))
    if present is None and not nodeclass.is_ready:
        nodeclass = replace(nodeclass, conditions=with_condition(nodeclass.conditions, ready("True")))
        draft.note(f"{ref.kind} {ref.name} counts as ready; the matches of its selectors are unknown until it exists")
    draft.put(kind, nodeclass)
    settle_pools_of(draft, ref.kind, ref.name)


def _put_node(draft: ClusterDraft, kind: Kind, document: dict[str, Any]) -> None:
    draft.put(kind, cordoned(convert(kind, document)))


def _put_overlay(draft: ClusterDraft, kind: Kind, document: dict[str, Any]) -> None:
    overlay = convert(kind, document)
    if not overlay.conditions:
        overlay = replace(overlay, conditions=(ready("True"),))
    draft.put(kind, overlay)


def _put_pdb(draft: ClusterDraft, kind: Kind, document: dict[str, Any]) -> None:
    present = draft.find(_ref(document))
    pdb = convert(kind, document)
    if present is not None:
        pdb = replace(pdb, uid=present.uid, created_ns=present.created_ns)
    draft.put(kind, with_status(draft, pdb))


def _put_pod(draft: ClusterDraft, kind: Kind, document: dict[str, Any]) -> None:
    pod: Pod = convert(kind, document)
    present = draft.find(_ref(document))
    read = read_template(document, kind="Pod", key=pod.key, namespace=pod.namespace, owners=pod.owners)
    template = with_priority(draft, read.template)
    typed = document["metadata"].get("uid")
    uid = pod.uid if typed or present is None else present.uid
    pod = replace(pod, template=template, uid=uid, created_ns=pod.created_ns or draft.now_ns)
    if not pod.node_name and not pod.is_terminal and pod.scheduled_reason != SCHEDULING_GATED:
        pod = replace(pod, phase="Pending", scheduled_reason=UNSCHEDULABLE, nominated_node_name="")
    draft.put(kind, pod)


def _put_daemonset(draft: ClusterDraft, kind: Kind, document: dict[str, Any]) -> None:
    ref = _ref(document)
    present = draft.find(ref)
    daemonset = convert(kind, document)
    daemonset = replace(daemonset, uid=daemonset.uid or (present.uid if present is not None else f"whatif-{ref.key}"))
    draft.put(kind, daemonset)
    if present is not None:
        # Karpenter reads the requests of a DaemonSet from its newest pod, so its pods change with it.
        give_template(draft, draft.pods_of(ref), lambda pod: like_its_pods(daemonset.template, pod))


def _put_workload(draft: ClusterDraft, kind: Kind, document: dict[str, Any]) -> None:
    ref = _ref(document)
    present = draft.find(ref)
    workload = convert(kind, document)
    workload = replace(workload, uid=workload.uid or (present.uid if present is not None else f"whatif-{ref.key}"))
    if kind is Kind.CRONJOB:
        draft.put(kind, workload)
        draft.note(f"CronJob {ref.key} has no pods until its schedule comes; put a Job to see them")
        return
    spec = document.get("spec")
    spec = spec if isinstance(spec, Mapping) else {}
    replicas = _count(spec, "parallelism" if kind is Kind.JOB else "replicas", ref)
    owner = OwnerReference(workload.api_version, ref.kind, ref.name, workload.uid, controller=True)
    body = spec.get("template")
    read = read_template(
        body if isinstance(body, Mapping) else {},
        kind=ref.kind,
        key=ref.key,
        namespace=workload.namespace,
        owners=(owner,),
    )
    template = with_priority(draft, read.template)
    draft.put(kind, replace(workload, template=template, volumes=read.volumes, replicas=replicas))
    if pods := draft.pods_of(ref):
        if changed := give_template(draft, pods, lambda pod: like_its_pods(template, pod)):
            draft.note(f"{ref.kind} {ref.key}: its pods ({changed}) change in place, without a rollout")
        scale(draft, ref, replicas)
    else:
        add_first(draft, template, read.volumes, ref.name, replicas)


def _count(spec: Mapping[str, Any], field: str, ref: ObjectRef) -> int:
    value = spec.get(field, 1)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise EditError(f"{ref.kind} {ref.key}: spec.{field}: must be a number of pods, is {value!r:.60}")
    return value


_PUTTERS: Final[Mapping[Kind, Callable[[ClusterDraft, Kind, dict[str, Any]], None]]] = {
    Kind.NODEPOOL: _put_nodepool,
    Kind.NODECLASS: _put_nodeclass,
    Kind.NODE: _put_node,
    Kind.NODEOVERLAY: _put_overlay,
    Kind.PDB: _put_pdb,
    Kind.POD: _put_pod,
    Kind.DAEMONSET: _put_daemonset,
    Kind.DEPLOYMENT: _put_workload,
    Kind.REPLICASET: _put_workload,
    Kind.STATEFULSET: _put_workload,
    Kind.JOB: _put_workload,
    Kind.CRONJOB: _put_workload,
    Kind.REPLICATION_CONTROLLER: _put_workload,
}


def delete_object(draft: ClusterDraft, ref: ObjectRef) -> None:
    """Take an object away."""
    item = draft.get(ref)
    kind = draft.kind(ref)
    match kind:
        case Kind.NODE | Kind.NODECLAIM:
            draft.removed.append(ref.name)
            return
        case Kind.NODEPOOL:
            _release_claims(draft, ref.name)
        case Kind.POD if item.owners:
            draft.note(
                f"Pod {ref.key}: its owner would recreate it, which is not simulated; scale the workload instead"
            )
        case _ if isinstance(item, Workload | DaemonSet):
            _drop_workload(draft, ref, item)
    draft.drop(kind, item)
    if kind is Kind.NODECLASS:
        settle_pools_of(draft, ref.kind, ref.name)


def _release_claims(draft: ClusterDraft, pool_name: str) -> None:
    """Mark the NodeClaims of a NodePool: they are deleted with their owner."""
    claims = [claim for claim in draft.values(Kind.NODECLAIM) if claim.labels.get(NODEPOOL) == pool_name]
    for claim in claims:
        if not claim.is_deleting:
            draft.put(Kind.NODECLAIM, replace(claim, deletion_ns=draft.now_ns))
    if claims:
        draft.note(f"NodePool {pool_name}: its {len(claims)} NodeClaims are deleted with it, and their nodes drain")


def _drop_workload(draft: ClusterDraft, ref: ObjectRef, item: Any) -> None:
    for pod in draft.pods_of(ref):
        draft.drop(Kind.POD, pod)
    if isinstance(item, Workload):
        owned = [
            replicas
            for replicas in draft.values(Kind.REPLICASET)
            if any(owner.uid == item.uid for owner in replicas.owners)
        ]
        for replicaset in owned if item.uid else ():
            draft.drop(Kind(replicaset.kind), replicaset)


_VALIDATION: Final = "ValidationSucceeded"


def run_version(draft: ClusterDraft, version: str) -> None:
    """Change the version."""
    if not is_modelled(version):
        versions = ", ".join(rules.version for rules in MODELLED)
        raise EditError(f"Karpenter {version or '(no version)'} is not modelled: {versions} are")
    draft.settings = replace(draft.settings, rules=rules_for(version))


def judge_nodeclasses(draft: ClusterDraft, rules: Rules, before: tuple[NodeClass, ...]) -> None:
    """Update the readiness of EC2NodeClasses and their NodePools: since 1.15 Karpenter alone decides."""
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
    draft.note(f"{EC2_KIND} {nodeclass.name} is ready, judging by spec.kubelet and its annotations")
    return replace(nodeclass, conditions=with_condition(nodeclass.conditions, ready("True")))
