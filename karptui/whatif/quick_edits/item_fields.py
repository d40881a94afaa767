"""Quick edits of lists and mappings, item by item: taints, labels, limits, budgets, reserved resources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from karptui.whatif.field_path import Path, value_at
from karptui.whatif.quick_edits.fields import At, Body, Input, Option, QuickEdit, as_text, refuse
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.yaml.splice import REMOVE, append_item, get_value, set_value

_KEY: Final = r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_LABEL_VALUE: Final = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_PAIR: Final = re.compile(rf"({_KEY})=(.*)\Z", re.DOTALL)
_TAINT: Final = re.compile(rf"({_KEY})(?:=({_LABEL_VALUE}))?:(NoSchedule|PreferNoSchedule|NoExecute)\Z")
_REASONS: Final = "Underutilized|Empty|Drifted"
_BUDGET: Final = re.compile(
    rf"(?P<nodes>(?:100|[0-9]{{1,2}})%|[0-9]+)"
    rf"(?: +(?P<reasons>(?:{_REASONS})(?:,(?:{_REASONS}))*))?"
    r"(?: +(?P<schedule>@[a-z]+|(?:\S+ +){4}\S+) +(?:for +)?(?P<duration>(?:[0-9]+h)?(?:[0-9]+m)?(?:0s)?))?\Z"
)
_SCHEDULES: Final = frozenset({"@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})


def pairs_field(
    id_: str,
    title: str,
    kinds: Iterable[str],
    path: Path,
    *,
    value_fault: Callable[[str], str],
    value_of: Callable[[str], Any] = str,
    hint: str,
) -> QuickEdit:
    """Make a quick edit of a mapping; an item is ``name=value``, and an existing name gets the new value."""

    def fault(text: str) -> str:
        match = _PAIR.match(text)
        if match is None:
            return f"must be {hint}"
        return value_fault(match[2])

    def put(text: str, at: At, value: str) -> str:
        _check(fault(value))
        name, _, new_value = value.partition("=")
        return set_value(text, at, (*path, name), value_of(new_value))

    def drop(text: str, at: At, value: str) -> str:
        return set_value(text, at, (*path, value.partition("=")[0]), REMOVE, prune=True)

    return _items_field(
        id_, title, kinds, path, put=put, drop=drop, fault=fault, hint=hint, texts=lambda body: _pairs(body, path)
    )


def taints_field(id_: str, title: str, kinds: Iterable[str], path: Path) -> QuickEdit:
    """Make a quick edit of taints, written as kubectl does: ``key=value:Effect``."""
    hint = "key=value:Effect, such as team=ml:NoSchedule"

    def fault(text: str) -> str:
        return "" if _TAINT.match(text) else f"must be {hint}"

    def put(text: str, at: At, value: str) -> str:
        _check(fault(value))
        taint = taint_of(value)
        if taint in (get_value(text, at, path) or ()):
            raise refuse(f"{value} is there already")
        return append_item(text, at, path, taint)

    return _list_field(id_, title, kinds, path, put=put, fault=fault, hint=hint, write=taint_text)


def budgets_field(id_: str, title: str, kinds: Iterable[str], path: Path) -> QuickEdit:
    """Make a quick edit of disruption budgets, written as ``10% Empty,Drifted 0 9 * * mon-fri for 8h``."""
    hint = "nodes, then reasons, then schedule for duration: 10%, 0 Drifted, 0 0 9 * * mon-fri for 8h"

    def fault(text: str) -> str:
        match = _BUDGET.match(text)
        if match is None or (match["schedule"] and not match["duration"]):
            return f"must be {hint}"
        if match["schedule"] and match["schedule"].startswith("@") and match["schedule"] not in _SCHEDULES:
            return f"{match['schedule']} is not a schedule: {', '.join(sorted(_SCHEDULES))}"
        return ""

    def put(text: str, at: At, value: str) -> str:
        _check(fault(value))
        return append_item(text, at, path, budget_of(value))

    return _list_field(id_, title, kinds, path, put=put, fault=fault, hint=hint, write=budget_text)


def taint_of(text: str) -> dict[str, str]:
    """Read ``key=value:Effect``."""
    match = _TAINT.match(text)
    assert match is not None
    key, value, effect = match.groups()
    return {"key": key, **({"value": value} if value else {}), "effect": effect}


def taint_text(taint: Any) -> str:
    """Write a taint as kubectl does."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def budget_of(text: str) -> dict[str, Any]:
    """Read a budget, see ``budgets_field``."""
    match = _BUDGET.match(text)
    assert match is not None
    budget: dict[str, Any] = {"nodes": match["nodes"]}
    if match["reasons"]:
        budget["reasons"] = match["reasons"].split(",")
    if match["schedule"]:
        budget["schedule"] = re.sub(" +", " ", match["schedule"])
        budget["duration"] = match["duration"]
    return budget


def budget_text(budget: Any) -> str:
    """Write a budget, see ``budgets_field``."""
    words = [as_text(budget.get("nodes", "10%")), ",".join(budget.get("reasons") or ())]
    if budget.get("schedule"):
        words += [str(budget["schedule"]), "for", str(budget.get("duration", ""))]
    return " ".join(word for word in words if word)


def label_value_fault(text: str) -> str:
    """Return an error message for a label's value."""
    fits = re.fullmatch(_LABEL_VALUE, text) and len(text) <= 63
    return "" if fits else "the value must be at most 63 letters, digits, - _ and ."


def _items_field(
    id_: str,
    title: str,
    kinds: Iterable[str],
    path: Path,
    *,
    put: Callable[[str, At, str], str],
    drop: Callable[[str, At, str], str],
    fault: Callable[[str], str],
    hint: str,
    texts: Callable[[Body], list[str]],
) -> QuickEdit:
    def options(body: Body, _: KnownValues) -> tuple[Option, ...]:
        return tuple(Option(text, is_on=True) for text in texts(body))

    return QuickEdit(
        id=id_,
        title=title,
        kinds=frozenset(kinds),
        path=path,
        input=Input.ITEMS,
        current=lambda body: " · ".join(texts(body)),
        put=put,
        fault=fault,
        options=options,
        drop=drop,
        hint=hint,
    )


def _pairs(body: Body, path: Path) -> list[str]:
    value = value_at(body, path)
    return [f"{name}={as_text(value)}" for name, value in value.items()] if isinstance(value, dict) else []


def _list_field(
    id_: str,
    title: str,
    kinds: Iterable[str],
    path: Path,
    *,
    put: Callable[[str, At, str], str],
    fault: Callable[[str], str],
    hint: str,
    write: Callable[[Any], str],
) -> QuickEdit:
    """Make a quick edit of a list of mappings, each shown as text by ``write``."""

    def texts(body: Body) -> list[str]:
        value = value_at(body, path)
        return [write(item) for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    def drop(text: str, at: At, value: str) -> str:
        items = get_value(text, at, path)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict) and write(item) == value:
                return set_value(text, at, (*path, index), REMOVE, prune=True)
        return text

    return _items_field(id_, title, kinds, path, put=put, drop=drop, fault=fault, hint=hint, texts=texts)


def _check(sentence: str) -> None:
    if sentence:
        raise refuse(sentence)
