"""Make edits to a cluster; nothing outside of it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, assert_never

from msgspec.structs import replace

from karptui.decode.errors import DecodeError
from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import CAPACITY_TYPE, ZONE
from karptui.karpenter.rules import VERSION_SETTING
from karptui.karpenter.settings import GATE_DEFAULTS, GATE_PREFIX, Settings, SettingsError, parse_settings
from karptui.kube.objects import cordoned
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.workload import DaemonSet, Workload
from karptui.provisioning.instance_types import InstanceTypes
from karptui.whatif.edits import (
    AnyEdit,
    CopyPod,
    CordonNode,
    DeleteObject,
    EditError,
    FailedEditError,
    ObjectRef,
    PutObject,
    RemoveNode,
    ScaleWorkload,
    SetField,
    SetSetting,
    TakeOut,
)
from karptui.whatif.edits.document import as_stored, record_document, taken_over, template_document, with_field
from karptui.whatif.edits.draft import ClusterDraft
from karptui.whatif.edits.objects import convert, delete_object, judge_nodeclasses, put_object, run_version, settle_pool
from karptui.whatif.edits.pods import TemplateRead, copy, give_template, is_same, read_template, scale, with_status
from karptui.whatif.field_path import Path, path_text
from karptui.whatif.situation import EditedCluster, TypesResult, WhatIfBase, settings_of_types

_TEMPLATE = ("spec", "template")
_REPLICAS = ("spec", "replicas")


def set_field(draft: ClusterDraft, edit: SetField) -> None:
    """Set a field."""
    item = draft.get(edit.object)
    kind = draft.kind(edit.object)
    try:
        match kind:
            case Kind.NODEPOOL | Kind.NODECLASS:
                _set_raw(draft, kind, item, edit)
            case Kind.POD:
                _set_pod(draft, item, edit)
            case _ if isinstance(item, Workload | DaemonSet):
                _set_workload(draft, kind, item, edit)
            case _:
                _set_record(draft, kind, item, edit)
    except DecodeError as error:
        raise EditError(str(error)) from None
    except EditError as error:
        raise EditError(f"{edit.object.kind} {edit.object.key}: {error}") from None


def _set_raw(draft: ClusterDraft, kind: Kind, item: Any, edit: SetField) -> None:
    if not item.raw:
        raise EditError("its original object is unknown, so its fields cannot be set")
    # Items of a list have no kind.
    api_version_field = {"apiVersion": f"{item.group}/{item.version}"} if kind is Kind.NODECLASS else {}
    document = {**api_version_field, "kind": edit.object.kind, **with_field(item.raw, edit.path, edit.value)}
    edited_item = convert(kind, as_stored(document, item.raw, draft.settings.rules.crds))
    if kind is Kind.NODEPOOL and edited_item.node_class_ref != item.node_class_ref:
        edited_item = settle_pool(draft, edited_item)
    draft.put(kind, edited_item)


def _set_pod(draft: ClusterDraft, pod: Pod, edit: SetField) -> None:
    if edit.path == ("spec", "nodeName"):
        raise EditError("spec.nodeName cannot be set: pods are bound by the scheduler")
    if _is_its_own(pod, edit.path):
        document = with_field(record_document(Kind.POD, pod) or {}, edit.path, edit.value)
        read = _read(document, pod.template, "Pod", pod.key)
        edited_pod = replace(pod, template=read.template, own_labels=read.own_labels, volumes=read.volumes)
        is_idle = is_same(pod.template, read.template) and edited_pod.own_labels == pod.own_labels
        is_idle = is_idle and edited_pod.volumes == pod.volumes
    else:
        template = draft.interned(edit, pod.template, lambda: _changed(pod.template, edit, edit.path))
        edited_pod, is_idle = replace(pod, template=template), template is pod.template
    if is_idle:
        _note_idle(draft, edit)
    else:
        draft.put(Kind.POD, edited_pod)


def _is_its_own(pod: Pod, path: Path) -> bool:
    """Return whether a path leads to a field that a pod does not share with others of its template."""
    if path[:2] == ("spec", "volumes"):
        return True
    return path[:2] == ("metadata", "labels") and (len(path) == 2 or path[2] in pod.own_labels)


def _changed(template: PodTemplate, edit: SetField, path: Path) -> PodTemplate:
    """Return a template with a field set; the same object if nothing modelled changes."""
    document = with_field(template_document(template), path, edit.value)
    pod_template = _read(document, template, edit.object.kind, edit.object.key).template
    return template if is_same(template, pod_template) else pod_template


def _set_workload(draft: ClusterDraft, kind: Kind, item: Any, edit: SetField) -> None:
    path = edit.path
    if path == _REPLICAS and isinstance(item, Workload):
        if not isinstance(edit.value, int) or isinstance(edit.value, bool):
            raise EditError(f"spec.replicas must be a number of pods, is {edit.value!r:.60}")
        scale(draft, edit.object, edit.value)
    elif path[:2] == _TEMPLATE and len(path) > 2:
        _set_template(draft, kind, item, edit)
    elif path[0] == "metadata":
        document = with_field(record_document(kind, item) or {}, path, edit.value)
        labels, annotations = (document["metadata"].get(name) or {} for name in ("labels", "annotations"))
        draft.put(kind, replace(item, labels=labels, annotations=annotations))
    else:
        _note_idle(draft, edit)


def _set_template(draft: ClusterDraft, kind: Kind, item: Any, edit: SetField) -> None:
    """Set a field of a workload's template and of each of its pods, which may have been made from an older one."""
    ref, path = edit.object, edit.path[len(_TEMPLATE) :]
    pods = draft.pods_of(ref)
    count = give_template(draft, pods, lambda pod: _changed(pod.template, edit, path))
    template = None if item.template is None else _changed(item.template, edit, path)
    if template is not item.template:
        draft.put(kind, replace(item, template=template))
    elif not count:
        _note_idle(draft, edit)
    if count:
        draft.note(f"{ref.kind} {ref.key}: its pods ({count}) change in place, without a rollout")


def _set_record(draft: ClusterDraft, kind: Kind, item: Any, edit: SetField) -> None:
    document = record_document(kind, item)
    if document is None:
        raise EditError(f"{path_text(edit.path)} cannot be set alone: give the whole object")
    document = with_field(document, edit.path, edit.value)
    edited_item = taken_over(kind, item, convert(kind, document))
    if edited_item is item:
        _note_idle(draft, edit)
        return
    if kind is Kind.NODECLAIM and edit.path[0] == "spec":
        draft.note(f"NodeClaim {item.name}: spec is immutable in a cluster; this shows the effect of a new object")
    draft.put(kind, with_status(draft, edited_item) if kind is Kind.PDB else edited_item)


def _read(document: Mapping[str, Any], template: PodTemplate, kind: str, key: str) -> TemplateRead:
    namespace, owners = template.namespace, template.owners
    read = read_template(document, kind=kind, key=key, namespace=namespace, owners=owners, is_typed=False)
    return TemplateRead(replace(read.template, images=template.images), read.own_labels, read.volumes)


def _note_idle(draft: ClusterDraft, edit: SetField) -> None:
    ref = edit.object
    draft.note(f"{ref.kind} {ref.key}: {path_text(edit.path)} does not change anything that is modelled")


def apply(base: WhatIfBase, edits: Sequence[AnyEdit]) -> EditedCluster:
    """Return the cluster as edits make it, one after the other.

    Objects that no edit touches stay the same objects, and instance types are worked out again only where a NodeClass
    or a setting that they depend on changes.

    Raises:
        FailedEditError: for the first edit that cannot be made.
    """
    draft = ClusterDraft(base)
    # The version decides the API server's defaults, and the values that Karpenter accepts in a NodeClass.
    for position, edit in sorted(enumerate(edits), key=lambda pair: not _is_version(pair[1])):
        try:
            _apply_one(draft, edit)
        except EditError as error:
            raise FailedEditError(position, edit, str(error)) from None
    judge_nodeclasses(draft, base.settings.rules, base.inventory.nodeclasses)
    inventory = draft.inventory()
    types, notes = _types(base, draft, inventory)
    return EditedCluster(
        base,
        tuple(edits),
        inventory,
        draft.settings,
        types,
        outages=tuple(draft.outages),
        removed=tuple(dict.fromkeys(draft.removed)),
        notes=(*draft.notes, *notes),
    )


def _apply_one(draft: ClusterDraft, edit: AnyEdit) -> None:
    match edit:
        case SetField():
            set_field(draft, edit)
        case PutObject():
            put_object(draft, edit.text)
        case DeleteObject():
            delete_object(draft, edit.object)
        case SetSetting():
            set_setting(draft, edit.name, edit.value)
        case ScaleWorkload():
            scale(draft, edit.object, edit.replicas)
        case CopyPod():
            copy(draft, edit.object, edit.count)
        case TakeOut():
            draft.outages.append(edit)
        case RemoveNode():
            if (
                draft.find(ObjectRef("Node", edit.name)) is None
                and draft.find(ObjectRef("NodeClaim", edit.name)) is None
            ):
                raise EditError(f"there is no Node {edit.name}")
            draft.removed.append(edit.name)
        case CordonNode():
            node = draft.get(ObjectRef("Node", edit.name))
            draft.put(Kind.NODE, cordoned(replace(node, is_unschedulable=True)))
        case _:
            assert_never(edit)


def _is_version(edit: AnyEdit) -> bool:
    return isinstance(edit, SetSetting) and edit.name == VERSION_SETTING


def _types(base: WhatIfBase, draft: ClusterDraft, inventory: Inventory) -> tuple[TypesResult, list[str]]:
    """Return the instance types of the edited cluster, and notes about them."""
    notes: list[str] = []
    types = base.types
    of_nodeclasses = draft.touched(Kind.NODECLASS)
    of_settings = settings_of_types(base.settings) != settings_of_types(draft.settings)
    if types.is_fixed:
        if of_nodeclasses or of_settings:
            what = "EC2NodeClasses and settings" if of_nodeclasses else "settings"
            notes.append(f"instance types came with the snapshot: edits of {what} do not change them")
    elif of_nodeclasses or of_settings or not _covers(types, base.inventory, inventory):
        types = base.types_of(inventory, draft.settings)
    elif inventory.nodepools is not base.inventory.nodepools:
        types = replace(types, types=_by_reference(types.types, base.inventory, inventory))
    if draft.outages:
        instance_types, counts = without_offerings(types.types, draft.outages)
        types = replace(types, types=instance_types)
        missed = [outage.words for outage, count in zip(draft.outages, counts, strict=True) if not count]
        notes.extend(f"there is no such offering: {text}" for text in missed)
    return types, notes


def _covers(types: TypesResult, before: Inventory, after: Inventory) -> bool:
    """Return whether the types of every NodePool are known from one with the same NodeClass."""
    if not isinstance(types.types, Mapping) or after.nodepools is before.nodepools:
        return True
    refs = {pool.node_class_ref for pool in before.nodepools}
    return all(pool.node_class_ref in refs for pool in after.nodepools)


def _by_reference(types: Any, before: Inventory, after: Inventory) -> Any:
    if not isinstance(types, Mapping):
        return types
    by_reference = {pool.node_class_ref: types[pool.name] for pool in before.nodepools if pool.name in types}
    return {
        pool.name: by_reference[pool.node_class_ref] for pool in after.nodepools if pool.node_class_ref in by_reference
    }


def without_offerings(types: InstanceTypes, outages: Sequence[TakeOut]) -> tuple[InstanceTypes, list[int]]:
    """Return instance types with offerings marked unavailable, and the number of them per outage.

    NodePools that shared a list of types still share one; types without such offerings stay the same objects.
    """
    counts = [0] * len(outages)
    if not isinstance(types, Mapping):
        return _marked(types, outages, counts), counts
    instance_types: dict[int, Sequence[InstanceType]] = {}
    result: dict[str, Sequence[InstanceType]] = {}
    for name, pool_types in types.items():
        if id(pool_types) not in instance_types:
            instance_types[id(pool_types)] = _marked(pool_types, outages, counts)
        result[name] = instance_types[id(pool_types)]
    return result, counts


def _marked(types: Sequence[InstanceType], outages: Sequence[TakeOut], counts: list[int]) -> tuple[InstanceType, ...]:
    return tuple(_marked_type(instance_type, outages, counts) for instance_type in types)


def _marked_type(instance_type: InstanceType, outages: Sequence[TakeOut], counts: list[int]) -> InstanceType:
    hits = [
        (i, outage)
        for i, outage in enumerate(outages)
        if not outage.instance_type or fnmatchcase(instance_type.name, outage.instance_type)
    ]
    if not hits:
        return instance_type
    offerings = list(instance_type.offerings)
    is_changed = False
    for position, offering in enumerate(instance_type.offerings):
        for i, outage in hits:
            if _has(offering, ZONE, outage.zone) and _has(offering, CAPACITY_TYPE, outage.capacity_type):
                counts[i] += 1
                if offering.is_available or offering.error_code:
                    is_changed = True
                    offerings[position] = replace(offering, is_available=False, error_code="")
    return replace(instance_type, offerings=tuple(offerings)) if is_changed else instance_type


def _has(offering: Offering, key: str, value: str) -> bool:
    return not value or any(r.key == key and value in r.values for r in offering.requirements)


GATES: Final = "FEATURE_GATES"


def set_setting(draft: ClusterDraft, name: str, value: str) -> None:
    """Give a setting, or a feature gate by ``FEATURE_GATES.<gate>``, another value."""
    if name == VERSION_SETTING:
        run_version(draft, value)
        return
    environment = _environment(draft.settings)
    if name.startswith(GATE_PREFIX):
        gate = name.removeprefix(GATE_PREFIX)
        if gate not in draft.settings.gates:
            raise EditError(f"there is no feature gate {gate}; the gates are {', '.join(GATE_DEFAULTS)}")
        others = [f"{other}={str(is_on).lower()}" for other, is_on in draft.settings.gates.items() if other != gate]
        environment[GATES] = ",".join((*others, f"{gate}={value}"))
    else:
        if name not in draft.settings.texts() and name != GATES:
            draft.note(f"{name} does not change anything that is modelled")
        environment[name] = value
    try:
        settings = replace(parse_settings(environment), rules=draft.settings.rules)
    except SettingsError as error:
        raise EditError(str(error)) from None
    if name in settings.unread:
        raise EditError(f"{name} is {value!r}, which Karpenter cannot parse: it would use its default")
    draft.settings = settings


def _environment(settings: Settings) -> dict[str, str]:
    """Return settings by their environment names, including those set in other ways."""
    texts = settings.texts()
    gates = ",".join(
        f"{name.removeprefix(GATE_PREFIX)}={text}" for name, text in texts.items() if name.startswith(GATE_PREFIX)
    )
    non_gate_texts = {name: text for name, text in texts.items() if not name.startswith(GATE_PREFIX)}
    return {**non_gate_texts, **({GATES: gates} if gates else {}), **settings.environment}
