"""Makes edits to a cluster; nothing outside of it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.whatif.editing.cluster_draft import ClusterDraft
from karptui.whatif.editing.delete_object import delete_object
from karptui.whatif.editing.outages import outage_text, without_offerings
from karptui.whatif.editing.pod_copies import copy, scale
from karptui.whatif.editing.put_object import put_object
from karptui.whatif.editing.record_document import cordoned
from karptui.whatif.editing.set_field import set_field
from karptui.whatif.editing.setting_edits import changes_types, set_setting
from karptui.whatif.edits import (
    AnyEdit,
    CopyPod,
    CordonNode,
    DeleteObject,
    ObjectRef,
    PutObject,
    RemoveNode,
    ScaleWorkload,
    SetField,
    SetSetting,
    TakeOut,
)
from karptui.whatif.errors import EditError, FailedEditError
from karptui.whatif.situation import Edited, TypesResult, WhatIfBase


def apply(base: WhatIfBase, edits: Sequence[AnyEdit]) -> Edited:
    """Return the cluster as edits make it, one after the other.

    Objects that no edit touches stay the same objects, and instance types are worked out again only where a NodeClass
    or a setting that they depend on changes.

    Raises:
        FailedEditError: for the first edit that cannot be made.
    """
    draft = ClusterDraft(base)
    for position, edit in enumerate(edits):
        try:
            _apply_one(draft, edit)
        except EditError as error:
            raise FailedEditError(position, edit, str(error)) from None
    inventory = draft.inventory()
    types, notes = _types(base, draft, inventory)
    return Edited(
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
            _remove(draft, edit.name)
        case CordonNode():
            node = draft.get(ObjectRef("Node", edit.name))
            draft.put(Kind.NODE, cordoned(replace(node, is_unschedulable=True)))
        case _:
            assert_never(edit)


def _remove(draft: ClusterDraft, name: str) -> None:
    if draft.find(ObjectRef("Node", name)) is None and draft.find(ObjectRef("NodeClaim", name)) is None:
        raise EditError(f"there is no Node {name}")
    draft.removed.append(name)


def _types(base: WhatIfBase, draft: ClusterDraft, inventory: Inventory) -> tuple[TypesResult, list[str]]:
    """Return the instance types of the edited cluster, and what is to be said about them."""
    notes: list[str] = []
    types = base.types
    of_nodeclasses = draft.touched(Kind.NODECLASS)
    of_settings = changes_types(base.settings, draft.settings)
    if types.is_fixed:
        if of_nodeclasses or of_settings:
            what = "EC2NodeClasses and settings" if of_nodeclasses else "settings"
            notes.append(f"instance types came with the snapshot: edits of {what} do not change them")
    elif of_nodeclasses or of_settings or not _covers(types, base.inventory, inventory):
        types = base.types_of(inventory, draft.settings)
    elif inventory.nodepools is not base.inventory.nodepools:
        types = replace(types, types=_by_reference(types.types, base.inventory, inventory))
    if draft.outages:
        made, counts = without_offerings(types.types, draft.outages)
        types = replace(types, types=made)
        missed = [outage_text(one) for one, count in zip(draft.outages, counts, strict=True) if not count]
        notes.extend(f"there is no such offering: {text}" for text in missed)
    return types, notes


def _references(inventory: Inventory, types: Any) -> dict[Any, Any]:
    return {pool.node_class_ref: types[pool.name] for pool in inventory.nodepools if pool.name in types}


def _covers(types: TypesResult, before: Inventory, after: Inventory) -> bool:
    """Whether the types of every NodePool are known already, from one that draws on the same NodeClass."""
    if not isinstance(types.types, Mapping) or after.nodepools is before.nodepools:
        return True
    known = {pool.node_class_ref for pool in before.nodepools}
    return all(pool.node_class_ref in known for pool in after.nodepools)


def _by_reference(types: Any, before: Inventory, after: Inventory) -> Any:
    if not isinstance(types, Mapping):
        return types
    by_reference = _references(before, types)
    return {
        pool.name: by_reference[pool.node_class_ref] for pool in after.nodepools if pool.node_class_ref in by_reference
    }
