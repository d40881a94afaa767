"""Quick edits of requirements: which values of a label a NodePool allows, and edits of documents for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from karptui.karpenter.requirements import Requirement
from karptui.whatif.field_path import POOL_REQUIREMENTS, value_at
from karptui.whatif.quick_edits.fields import At, Body, Input, Option, QuickEdit, refuse
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.yaml.splice import REMOVE, append_item, get_value, remove_item, set_value

_COUNTED: Final = frozenset({"In", "NotIn"})


def requirement_field(id_: str, title: str, key: str, *, usual: tuple[str, ...] = ()) -> QuickEdit:
    """Make a quick edit of the values that a NodePool's requirement allows.

    Args:
        usual: Values that are offered also where the cluster knows none.
    """

    def options(body: Body, known_values: KnownValues) -> tuple[Option, ...]:
        requirements = value_at(body, POOL_REQUIREMENTS)
        named = [value for document in _of_key(requirements, key) for value in document.get("values") or ()]
        pool_values = [str(value) for value in named]
        values = dict.fromkeys((*usual, *known_values.labels.get(key, ()), *pool_values))
        left = values_left(requirements, key, known_values.types)
        if left is None:
            return tuple(Option(value, allows(requirements, key, value)) for value in values)
        lost = [value for value in dict.fromkeys(pool_values) if value not in left]
        return tuple(
            Option(value, allows(requirements, key, value), NO_TYPE if value in lost else "")
            for value in (*lost, *(value for value in values if value in left))
        )

    return QuickEdit(
        id=id_,
        title=title,
        kinds=frozenset({"NodePool"}),
        path=POOL_REQUIREMENTS,
        input=Input.TOGGLES,
        current=lambda body: requirement_text(value_at(body, POOL_REQUIREMENTS), key),
        put=_toggler(key, usual),
        options=options,
        hint="enter picks values",
    )


def toggle_value(text: str, at: At, key: str, value: str, *, others: tuple[str, ...] = ()) -> str:
    """Toggle one value of a NodePool's requirement.

    A requirement with ``In`` gains or loses the value, one with ``NotIn`` loses or gains it. Without either, the
    value is on; it is turned off by ``In`` with the ``others`` if these are all possible values, or else by ``NotIn``.

    Raises:
        EditRefusedError: if the last value would be removed, so that nothing meets the requirement.
    """
    path, requirements = POOL_REQUIREMENTS, get_value(text, at, POOL_REQUIREMENTS)
    index, requirement = _counted(requirements, key)
    if requirement is None:
        rest = [other for other in others if other != value]
        new = {"key": key, "operator": "In" if rest else "NotIn", "values": rest or [value]}
        return append_item(text, at, path, new)
    values = [str(listed_value) for listed_value in requirement.get("values") or ()]
    inner = (*path, index, "values")
    if value not in values:
        return append_item(text, at, inner, value)
    if len(values) > 1:
        return remove_item(text, at, inner, requirement["values"][values.index(value)])
    if requirement["operator"] == "In":
        raise refuse(f"{value} is the last value of {key}: a requirement without values matches nothing")
    return set_value(text, at, (*path, index), REMOVE)


def set_requirement(text: str, at: At, key: str, operator: str, values: Iterable[str]) -> str:
    """Give a requirement an operator and values, in the place of the first one of that key if there is one."""
    path, requirements = POOL_REQUIREMENTS, get_value(text, at, POOL_REQUIREMENTS)
    new = {"key": key, "operator": operator, "values": list(values)}
    for index, requirement in enumerate(requirements if isinstance(requirements, list) else ()):
        if isinstance(requirement, dict) and requirement.get("key") == key and requirement.get("operator") in _COUNTED:
            return set_value(text, at, (*path, index), {**requirement, **new})
    return append_item(text, at, path, new)


def allows(requirements: Any, key: str, value: str) -> bool:
    """Say whether the In and NotIn requirements of a key leave a value."""
    for document in _of_key(requirements, key):
        values = [str(item) for item in document.get("values") or ()]
        if (document.get("operator") == "In" and value not in values) or (
            document.get("operator") == "NotIn" and value in values
        ):
            return False
    return True


Types = Sequence[Mapping[str, tuple[str, ...]]]
NO_TYPE: Final = "no instance type that the other requirements allow has it"


def values_left(requirements: Any, key: str, types: Types) -> frozenset[str] | None:
    """Return the values of a label, among those of instance types, that the other requirements allow.

    None if unknown: no type is known, or none has the label.
    """
    if not any(key in labels for labels in types):
        return None
    others = [document for document in _all(requirements) if document.get("key") != key]
    return frozenset(value for labels in types if _meets(labels, others) for value in labels.get(key, ()))


def types_left(requirements: Any, types: Types) -> int | None:
    """Return the number of instance types that meet requirements; None if no type is known."""
    return sum(_meets(labels, _all(requirements)) for labels in types) if types else None


def _all(requirements: Any) -> list[Mapping[str, Any]]:
    return [r for r in requirements if isinstance(r, Mapping)] if isinstance(requirements, list) else []


def _meets(labels: Mapping[str, tuple[str, ...]], requirements: Sequence[Mapping[str, Any]]) -> bool:
    return all(_allowed(labels[key], r) for r in requirements if (key := r.get("key", "")) in labels)


def _allowed(values: tuple[str, ...], requirement: Mapping[str, Any]) -> bool:
    listed = [str(value) for value in requirement.get("values") or ()]
    match requirement.get("operator"):
        case "In":
            return any(value in listed for value in values)
        case "NotIn":
            return any(value not in listed for value in values)
        case "DoesNotExist":
            return False
        case "Gt" | "Gte" | "Lt" | "Lte" as operator if listed and listed[0].isdecimal():
            bound = Requirement.of("", operator, listed)
            return any(bound.allows(value) for value in values)
        case _:
            return True


def requirement_text(requirements: Any, key: str) -> str:
    """Return the requirements of a key on one line; empty if there are none."""
    words: list[str] = []
    for document in _of_key(requirements, key):
        values = ", ".join(str(value) for value in document.get("values") or ())
        operator = str(document.get("operator", ""))
        words.append(values if operator == "In" else f"{operator} {values}".strip())
    return " and ".join(words)


def _of_key(requirements: Any, key: str) -> list[Mapping[str, Any]]:
    documents = requirements if isinstance(requirements, list) else []
    return [document for document in documents if isinstance(document, dict) and document.get("key") == key]


def _counted(requirements: Any, key: str) -> tuple[int, dict[str, Any] | None]:
    indexed_requirements = [
        (index, requirement)
        for index, requirement in enumerate(requirements if isinstance(requirements, list) else [])
        if isinstance(requirement, dict) and requirement.get("key") == key and requirement.get("operator") in _COUNTED
    ]
    # In decides the values; NotIn only removes some.
    indexed_requirements.sort(key=lambda pair: pair[1]["operator"] != "In")
    return indexed_requirements[0] if indexed_requirements else (0, None)


def _toggler(key: str, usual: tuple[str, ...]) -> Callable[[str, At, str], str]:
    def put(text: str, at: At, value: str) -> str:
        if not value:
            raise refuse("choose a value")
        return toggle_value(text, at, key, value, others=usual if value in usual else ())

    return put
