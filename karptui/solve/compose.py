"""Several changes as one: what two of them set in the same place is made to serve both."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from karptui.kube.quantity import Quantity, QuantityError, parse_quantity
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField, SetSetting
from karptui.whatif.field_path import value_at
from karptui.whatif.remedies.pending.remedy import quantity_text, whole_nano
from karptui.whatif.situation import WhatIfBase

_LIMITS = ("spec", "limits")


def composed(base: WhatIfBase, changes: Sequence[tuple[AnyEdit, ...]]) -> tuple[AnyEdit, ...] | None:
    """Return the edits of several changes as one; None if two of them conflict.

    Lists get all additions and lose all removals; limits get the sum of the increases; the lower overhead and the
    higher number win.
    """
    found: dict[object, AnyEdit] = {}
    for edit in chain.from_iterable(changes):
        place = _place(edit)
        known = found.get(place)
        both = edit if known is None else _both(base, known, edit)
        if both is None:
            return None
        found[place] = both
    # An item that is taken out of a list moves those after it: such edits come last, the last item first.
    stay = [one for one in found.values() if not _takes_item(one)]
    gone = [one for one in found.values() if isinstance(one, SetField) and _takes_item(one)]
    return (*stay, *sorted(gone, key=lambda one: str(one.path[:-1]) + f"{one.path[-1]:>8}", reverse=True))


def _place(edit: AnyEdit) -> object:
    match edit:
        case SetField():
            return edit.object, edit.path
        case SetSetting():
            return edit.name
        case _:
            return repr(edit)


def _takes_item(edit: AnyEdit) -> bool:
    return isinstance(edit, SetField) and edit.value is None and isinstance(edit.path[-1], int)


def _both(base: WhatIfBase, one: AnyEdit, two: AnyEdit) -> AnyEdit | None:
    if one == two:
        return one
    if isinstance(one, SetSetting) and isinstance(two, SetSetting):
        return _lower(one, two)
    if not isinstance(one, SetField) or not isinstance(two, SetField):
        return None
    before = value_at(_raw(base, one.object), one.path)
    value: Any = None
    if isinstance(one.value, list) and isinstance(two.value, list):
        value = _lists(before if isinstance(before, list) else [], one.value, two.value)
    elif one.path[:-1] == _LIMITS and isinstance(one.path[-1], str):
        value = _limits(one.path[-1], before, one.value, two.value)
    elif isinstance(one.value, int) and isinstance(two.value, int):
        value = max(one.value, two.value)
    return None if value is None else SetField(one.object, one.path, value)


def _raw(base: WhatIfBase, ref: ObjectRef) -> Any:
    of_kind = base.inventory.nodepools if ref.kind == "NodePool" else base.inventory.nodeclasses
    return next((found.raw for found in of_kind if found.name == ref.name), {})


def _lower(one: SetSetting, two: SetSetting) -> SetSetting | None:
    try:
        return min(one, two, key=lambda setting: float(setting.value))
    except ValueError:
        return None


def _lists(before: list[Any], one: list[Any], two: list[Any]) -> list[Any] | None:
    if all(item in one for item in before) and all(item in two for item in before):
        return [*one, *(item for item in two if item not in one)]
    if all(item in before for item in (*one, *two)):
        return [item for item in one if item in two] or None
    return None


def _limits(resource: str, before: Any, one: Any, two: Any) -> str | None:
    try:
        was, first, second = (parse_quantity(str(value)) for value in (before, one, two))
    except QuantityError:
        return None
    raised: Quantity = first + (second - was)
    return quantity_text(resource, whole_nano(resource, raised.nano, is_up=True))
