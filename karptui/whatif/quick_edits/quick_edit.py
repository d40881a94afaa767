"""What a quick edit is: a field that is read and changed without typing YAML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from karptui.whatif.edits import ObjectRef
from karptui.whatif.path import Path
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.yaml.splice import EditRefusedError

At = int | ObjectRef
"""Which document of the buffer: its position, or the object it describes."""
Body = Mapping[str, Any]
"""A document as JSON would give it."""


class Input(StrEnum):
    """How a value is asked for."""

    NUMBER = "number"
    QUANTITY = "quantity"
    DURATION = "duration"
    CHOICE = "choice"
    """One of the options."""
    TOGGLES = "toggles"
    """Options that are on or off, each for itself."""
    ITEMS = "items"
    """A list or mapping whose items are lines of text, added and dropped one by one."""
    TEXT = "text"


class Option(NamedTuple):
    """Something that can be chosen, toggled or dropped."""

    value: str
    is_on: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuickEdit:
    """One field, and how it is read and written; values are text as a person types it."""

    id: str
    """Stable name, e.g. ``nodepool.weight``."""
    title: str
    kinds: frozenset[str]
    path: Path
    """The field that changes and nothing else; for a requirement the list of requirements."""
    input: Input
    current: Callable[[Body], str]
    """Reads the value as text; empty where the field is not set."""
    put: Callable[[str, At, str], str]
    """Takes buffer, document and value and returns the buffer. For TOGGLES the value is the option that is turned over;
    for ITEMS it is an item to add. Empty text takes the field away, as far as it may be missing. Raises
    ``EditRefusedError`` with a sentence."""
    fault: Callable[[str], str] = lambda _: ""
    """Says what is wrong with a text before it is put; empty if nothing."""
    options: Callable[[Body, KnownValues], tuple[Option, ...]] = lambda _body, _known: ()
    """Lists what can be chosen or toggled; for ITEMS what is there."""
    drop: Callable[[str, At, str], str] | None = None
    """For ITEMS: takes an item away."""
    step: Callable[[Body, int], str] | None = None
    """Gives the value one step up or down, where that means something."""
    hint: str = ""
    """The form of the value, with an example."""


def refuse(sentence: str) -> EditRefusedError:
    """Make the error of an edit that cannot be made."""
    return EditRefusedError(sentence)


def as_text(value: Any) -> str:
    """Write a scalar as a person would; empty for None and for what is no scalar."""
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
