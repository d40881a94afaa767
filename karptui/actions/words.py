"""Actions as typed: the kind of an object, and the operations that suit it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from karptui.actions.action import API_KINDS, KINDS_OF, Action, ActionError, Operation, action_on

_SHORT: Final = {"no": "Node", "po": "Pod", "deploy": "Deployment", "sts": "StatefulSet", "rs": "ReplicaSet"}
_KINDS: Final = MappingProxyType({**{kind.lower(): kind for kind in API_KINDS}, **_SHORT})


def named(operation: Operation, word: str) -> tuple[str, str]:
    """Return kind and key of an object: of ``pod/web/a``, or of ``web/a`` if only one kind fits.

    Raises:
        ActionError: several kinds fit.
    """
    first, _, rest = word.partition("/")
    if rest and first.lower() in _KINDS:
        return _KINDS[first.lower()], rest
    kinds = KINDS_OF[operation]
    fitting = [kind for kind in kinds if API_KINDS[kind].is_namespaced is ("/" in word)]
    if len(fitting) == 1:
        return fitting[0], word
    raise ActionError(f"{word}: name its kind as well, such as {(fitting or kinds)[0].lower()}/{word}")


def typed(text: str, rows: Mapping[Operation, Sequence[tuple[str, str]]] | None = None) -> tuple[Action, ...]:
    """Return the actions of a line: ``cordon NAME…``, ``scale deployment/NAMESPACE/NAME 4``.

    Args:
        rows: Kind and key of the objects that each operation is for if the line names none.

    Raises:
        ActionError: it is none.
    """
    first, *objects = text.split()
    try:
        operation = Operation(first)
    except ValueError:
        raise ActionError(f"there is no action {first}; there are {', '.join(Operation)}") from None
    if operation is Operation.APPLY:
        raise ActionError("apply takes the edits of the what-if: open it, edit, and type :do")
    replicas = None
    if operation is Operation.SCALE:
        replicas = int(objects.pop()) if objects and objects[-1].isdecimal() else None
    on = [named(operation, word) for word in objects] or (rows or {}).get(operation, ())
    if not on:
        raise ActionError(f"{operation} needs an object, such as {KINDS_OF[operation][0].lower()}/NAME")
    return tuple(action_on(operation, kind, key, replicas=replicas) for kind, key in on)


def operations_for(kinds: Sequence[str]) -> tuple[Operation, ...]:
    """Return the operations that suit all of some kinds of objects."""
    return tuple(operation for operation in Operation if kinds and set(kinds) <= set(KINDS_OF[operation]))
