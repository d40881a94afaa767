"""One field of an object, set or taken away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from karptui.decode.errors import DecodeError
from karptui.decode.kinds import Kind
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.workload import DaemonSet, Workload
from karptui.whatif.edits import EditError, SetField
from karptui.whatif.edits.document import as_stored, record_document, taken_over, template_document, with_field
from karptui.whatif.edits.draft import ClusterDraft
from karptui.whatif.edits.objects import convert, settle_pool
from karptui.whatif.edits.pods import TemplateRead, give_template, is_same, read_template, scale, with_status
from karptui.whatif.path import Path, path_text

_TEMPLATE = ("spec", "template")
_REPLICAS = ("spec", "replicas")


def set_field(draft: ClusterDraft, edit: SetField) -> None:
    """Set a field.

    Raises:
        EditError: naming object and field.
    """
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
        raise EditError("it is not known as it was written, so no field of it can be set")
    # Items of a list do not say what they are.
    own = {"apiVersion": f"{item.group}/{item.version}"} if kind is Kind.NODECLASS else {}
    document = {**own, "kind": edit.object.kind, **with_field(item.raw, edit.path, edit.value)}
    made = convert(kind, as_stored(document, item.raw, draft.settings.rules.crds))
    if kind is Kind.NODEPOOL and made.node_class_ref != item.node_class_ref:
        made = settle_pool(draft, made)
    draft.put(kind, made)


def _set_pod(draft: ClusterDraft, pod: Pod, edit: SetField) -> None:
    if edit.path == ("spec", "nodeName"):
        raise EditError("spec.nodeName cannot be set: pods are bound by the scheduler")
    if _is_its_own(pod, edit.path):
        document = with_field(record_document(Kind.POD, pod) or {}, edit.path, edit.value)
        read = _read(document, pod.template, "Pod", pod.key)
        made = replace(pod, template=read.template, own_labels=read.own_labels, volumes=read.volumes)
        is_idle = is_same(pod.template, read.template) and made.own_labels == pod.own_labels
        is_idle = is_idle and made.volumes == pod.volumes
    else:
        template = draft.interned(edit, pod.template, lambda: _changed(pod.template, edit, edit.path))
        made, is_idle = replace(pod, template=template), template is pod.template
    if is_idle:
        _note_idle(draft, edit)
    else:
        draft.put(Kind.POD, made)


def _is_its_own(pod: Pod, path: Path) -> bool:
    """Return whether a path may lead to what a pod does not share with others of its template."""
    if path[:2] == ("spec", "volumes"):
        return True
    return path[:2] == ("metadata", "labels") and (len(path) == 2 or path[2] in pod.own_labels)


def _changed(template: PodTemplate, edit: SetField, path: Path) -> PodTemplate:
    """Return a template with a field set; the same one where nothing changes that is modelled."""
    document = with_field(template_document(template), path, edit.value)
    made = _read(document, template, edit.object.kind, edit.object.key).template
    return template if is_same(template, made) else made


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
    """Set a field of a workload's template, and of each of its pods: they may have been made of an older one."""
    ref, path = edit.object, edit.path[len(_TEMPLATE) :]
    pods = draft.pods_of(ref)
    count = give_template(draft, pods, lambda pod: _changed(pod.template, edit, path))
    own = None if item.template is None else _changed(item.template, edit, path)
    if own is not item.template:
        draft.put(kind, replace(item, template=own))
    elif not count:
        _note_idle(draft, edit)
    if count:
        draft.note(f"{ref.kind} {ref.key}: its pods ({count}) count as changed where they are, without a rollout")


def _set_record(draft: ClusterDraft, kind: Kind, item: Any, edit: SetField) -> None:
    document = record_document(kind, item)
    if document is None:
        raise EditError(f"{path_text(edit.path)} cannot be set on its own: put the whole object")
    document = with_field(document, edit.path, edit.value)
    made = taken_over(kind, item, convert(kind, document))
    if made is item:
        _note_idle(draft, edit)
        return
    if kind is Kind.NODECLAIM and edit.path[0] == "spec":
        draft.note(f"NodeClaim {item.name}: spec cannot be changed in a cluster; this shows what it would mean")
    draft.put(kind, with_status(draft, made) if kind is Kind.PDB else made)


def _read(document: Mapping[str, Any], template: PodTemplate, kind: str, key: str) -> TemplateRead:
    namespace, owners = template.namespace, template.owners
    read = read_template(document, kind=kind, key=key, namespace=namespace, owners=owners, is_typed=False)
    return TemplateRead(replace(read.template, images=template.images), read.own_labels, read.volumes)


def _note_idle(draft: ClusterDraft, edit: SetField) -> None:
    ref = edit.object
    draft.note(f"{ref.kind} {ref.key}: {path_text(edit.path)} does not change anything that is modelled")
