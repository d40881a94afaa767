"""Reads YAML from outside into JSON-like values, with limits.

Scalars mean what they mean to kubectl (``yaml_scalars``). The C parser emits events, and a stack builds the values.
Depth, values, and values copied by aliases and ``<<`` are limited, so the time is too: a small text is always cheap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, NoReturn

import yaml

from karptui.kube.yaml_text import Scalar, key_text, resolve_plain

MAX_DEPTH: Final = 100
"""Maximum nesting; Kubernetes' own kinds stay below 30 levels, CRD schemas below 60."""
MAX_VALUES: Final = 20_000_000
"""Maximum values in a text: about 280 MB of pods, which take a minute to read."""
MAX_COPIED: Final = 1_000_000
"""Maximum values that aliases and ``<<`` may add to a text."""
MAX_DIRECTIVES: Final = 100
"""Maximum directives (``%TAG``) in a text: the C parser compares each with all others."""

_TAG: Final = "tag:yaml.org,2002:"
_WANTED: Final[dict[str, tuple[type, str]]] = {
    "bool": (bool, "true or false"),
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "null": (type(None), "null"),
}
_NOUNS: Final = {True: "a list", False: "a mapping"}
_DIRECTIVE: Final = {True: "\n%", False: b"\n%"}
_TABS: Final = re.compile(r"^ *\t", re.MULTILINE)
_STARTS: Final = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS: Final = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class Place(NamedTuple):
    """A position in a text; all fields count characters from 0."""

    position: int
    line: int
    column: int


class YamlError(ValueError):
    """Text is not valid YAML, or cannot be an API object; the message includes the line."""

    def __init__(self, problem: str, start: Place | None = None, end: int = 0) -> None:
        where = f"line {start.line + 1}, column {start.column + 1}: " if start is not None else ""
        super().__init__(f"{where}{problem}")
        self.problem = problem
        """Message without the line."""
        self.start = start.position if start is not None else 0
        """Position of the first invalid character."""
        self.end = max(end, self.start + 1)


class OpenCollection:
    """A mapping or list that is still being parsed."""

    __slots__ = ("event", "items", "names", "values_before")

    def __init__(self, event: Any, values_before: int) -> None:
        self.event = event
        self.items: list[Any] = []
        """Values; of a mapping alternately keys and values."""
        self.names: list[str | None] | None = [] if isinstance(event, yaml.MappingStartEvent) else None
        """Names of a mapping's keys, None for ``<<``; None for a list."""
        self.values_before = values_before


class YamlReader:
    """Reads each document of a text as a value. Subclasses can return other items, such as nodes with positions."""

    max_values = MAX_VALUES

    def __init__(self, text: str | bytes) -> None:
        self._text = text
        self._values = 0
        self._copied = 0
        self._open: list[OpenCollection] = []
        self._anchors: dict[str, tuple[Any, int]] = {}

    def scalar(self, event: Any, value: Scalar) -> Any:  # noqa: ARG002 - used by subclasses, as in the next three
        """Return the item for a scalar."""
        return value

    def collection(self, opened: OpenCollection, end: Any, value: Any) -> Any:  # noqa: ARG002
        """Return the item for a mapping or list."""
        return value

    def alias(self, event: Any, target: Any) -> Any:  # noqa: ARG002
        """Return the item for an alias."""
        return target

    def value_of(self, item: Any) -> Any:
        """Return the value of an item."""
        return item

    def duplicate(self, event: Any, name: str, key: Any | None) -> None:
        """Handle a repeated name in a mapping; ``key`` is None if ``<<`` repeats it. The later or explicit one wins."""

    def problem(self, event: Any, message: str) -> None:
        """Handle a value that no API object can contain."""
        self.refuse(event, message)

    def misplaced_merge(self, event: Any, item: Any) -> None:  # noqa: ARG002
        """Handle a ``<<`` whose value is not a mapping."""
        self.problem(event, "<< merges mappings only")

    def refuse(self, event: Any, message: str) -> NoReturn:
        """Raise an error at the position of an event."""
        mark = event.start_mark
        raise YamlError(message, Place(mark.index, mark.line, mark.column), event.end_mark.index)

    def documents(self) -> Iterator[Any]:
        """Return the item of each document.

        Raises:
            YamlError: If the text is not YAML, or exceeds a limit.
        """
        marker = _DIRECTIVE[isinstance(self._text, str)]
        if self._text.count(marker) > MAX_DIRECTIVES:  # type: ignore[arg-type]
            raise YamlError(f"has more than {MAX_DIRECTIVES} directives (lines that begin with %)")
        root: Any = None
        try:
            for event in yaml.parse(self._text, Loader=yaml.CSafeLoader):
                if isinstance(event, _STARTS):
                    self._begin(event)
                elif isinstance(event, yaml.DocumentEndEvent):
                    yield root
                    root = None
                    self._anchors = {}
                elif (item := self._item(event)) is not None and not self._open:
                    root = item
        except UnicodeEncodeError as error:
            place = Place(error.start, *_line_and_column(str(self._text), error.start))
            raise YamlError("half of a character (a lone surrogate)", place, error.end) from None
        except yaml.YAMLError as error:
            raise _syntax_error(self._text, error) from None

    def _begin(self, event: Any) -> None:
        if len(self._open) >= MAX_DEPTH:
            self.refuse(event, f"nested more than {MAX_DEPTH} levels deep")
        self._open.append(OpenCollection(event, self._values))
        self._count(event, 1)

    def _item(self, event: Any) -> Any:
        """Return the item that an event completes, and add it to the collection around it."""
        start, size = event, 1
        if isinstance(event, yaml.ScalarEvent):
            self._count(event, 1)
            item = self.scalar(event, self._scalar(event))
        elif isinstance(event, _ENDS):
            collection = self._open.pop()
            start, size = collection.event, self._values - collection.values_before
            item = self._collection(collection, event)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                self.refuse(event, f"*{event.anchor:.60} refers to an anchor that is not above it")
            target, size = self._anchors[event.anchor]
            self._copy(event, size)
            item = self.alias(event, target)
        else:
            return None
        if start.anchor is not None and not isinstance(event, yaml.AliasEvent):
            self._anchors[start.anchor] = (item, size)
        if self._open:
            around = self._open[-1]
            if around.names is not None and len(around.items) == 2 * len(around.names):
                around.names.append(self._name(start, item))
            around.items.append(item)
        return item

    def _count(self, event: Any, values: int) -> None:
        self._values += values
        if self._values > self.max_values:
            self.refuse(event, f"more than {self.max_values:,} values once its aliases are written out")

    def _copy(self, event: Any, values: int) -> None:
        self._copied += values
        if self._copied > MAX_COPIED:
            self.refuse(event, f"aliases and << add more than {MAX_COPIED:,} values")
        self._count(event, values)

    def _collection(self, opened: OpenCollection, end: Any) -> Any:
        start, names = opened.event, opened.names
        if start.tag not in (None, "!", _TAG + ("seq" if names is None else "map")):
            self.problem(start, f"the tag {_tag_text(start.tag)} does not fit {_NOUNS[names is None]}")
        if names is None:
            return self.collection(opened, end, [self.value_of(item) for item in opened.items])
        merged: dict[str, Any] = {}
        value: dict[str, Any] = {}
        for name, key, item in zip(names, opened.items[::2], opened.items[1::2], strict=True):
            if name is None:
                self._merge(start, merged, item)
                continue
            if name in value:
                self.duplicate(start, name, key)
            value[name] = self.value_of(item)
        for name in merged.keys() & value.keys():
            self.duplicate(start, name, None)
        return self.collection(opened, end, {**merged, **value} if merged else value)

    def _merge(self, event: Any, merged: dict[str, Any], item: Any) -> None:
        """Apply ``<<`` to a mapping; the first of several sources wins."""
        source = self.value_of(item)
        for part in source if isinstance(source, list) else [source]:
            if not isinstance(part, dict):
                self.misplaced_merge(event, item)
                continue
            self._copy(event, len(part))
            for name, value in part.items():
                if name in merged:
                    self.duplicate(event, name, None)
                merged.setdefault(name, value)

    def _name(self, event: Any, item: Any) -> str | None:
        """Return the name of a field, or None for an unquoted ``<<``."""
        value = self.value_of(item)
        if isinstance(value, str):
            is_merge = value == "<<" and isinstance(event, yaml.ScalarEvent) and bool(event.implicit[0])
            return None if is_merge else value
        name = key_text(value) if isinstance(value, Scalar) else None
        if name is None:
            self.refuse(event, "a field name must be text")
        return name

    def _scalar(self, event: Any) -> Scalar:
        text: str = event.value
        if event.tag is None or event.tag == "!":
            return resolve_plain(text) if event.tag is None and event.implicit[0] else text
        tag = event.tag.removeprefix(_TAG)
        if tag in ("str", "timestamp"):
            return text
        if tag not in _WANTED:
            self.problem(event, f"Kubernetes does not support the tag {_tag_text(event.tag)}")
            return text
        kind, expected = _WANTED[tag]
        value = resolve_plain(text)
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            self.problem(event, f"{text:.60} cannot be {expected}")
        return value


class _StrictReader(YamlReader):
    """Rejects a repeated name in a mapping, explicit or through ``<<``."""

    def duplicate(self, event: Any, name: str, key: Any | None) -> None:  # noqa: ARG002
        self.refuse(event, f"the key {name!r:.60} appears twice in a mapping")


def load_documents(text: bytes | str) -> list[Any]:
    """Return the documents of a YAML stream as kubectl reads them, without empty ones.

    Raises:
        YamlError: If it is not YAML, or exceeds a limit.
    """
    return [document for document in YamlReader(text).documents() if document is not None]


def load_first(text: bytes) -> Any:
    """Return the first document, read as strictly as Kubernetes does; the others are not read.

    Raises:
        YamlError: As for `load_documents`, and for a repeated key in a mapping.
    """
    return next(_StrictReader(text).documents(), None)


def _tag_text(tag: str) -> str:
    return f"{tag.replace(_TAG, '!!'):.60}"


def _syntax_error(data: str | bytes, error: Any) -> YamlError:
    """Translate a parser error into plain words, at the position to correct."""
    text = data if isinstance(data, str) else data.decode(errors="replace")
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    if problem in _AT_THEIR_START:
        # The opening bracket or quote is wrong, not the end of the text.
        mark = getattr(error, "context_mark", None) or mark
    if mark is None:
        position = len(text.encode(errors="replace")[: int(getattr(error, "position", 0))].decode(errors="ignore"))
        is_control = "control" in str(getattr(error, "reason", ""))
        message = "a control character, which YAML does not allow" if is_control else "not UTF-8"
    else:
        position, message = min(int(mark.index), len(text)), _message(error)
    line, column = _line_and_column(text, position)
    tab = _TABS.match(text, position - column, position + 1)
    if tab or text[position : position + 1] == "\t":
        position, message = tab.end() - 1 if tab else position, "a tab: YAML is indented with spaces"
        column = position - (text.rfind("\n", 0, position) + 1)
    return YamlError(message, Place(position, line, column), position + 1)


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position), position - (text.rfind("\n", 0, position) + 1)


def _message(error: Any) -> str:
    problem = error.problem or error.context or "not YAML"
    plain = _PLAIN_WORDS.get(problem)
    context = f" {error.context}" if error.context and error.problem else ""
    return plain or f"{problem}{context}"


_AT_THEIR_START: Final = frozenset(
    {
        "did not find expected ',' or ']'",
        "did not find expected ',' or '}'",
        "found unexpected end of stream",
        "found unexpected document indicator",
        "could not find expected ':'",
    }
)
_PLAIN_WORDS: Final = {
    "mapping values are not allowed in this context": (
        "a colon is not expected here: check the indentation, or quote the value"
    ),
    "could not find expected ':'": "a colon is missing after the field name",
    "did not find expected key": "a field name is expected here: check the indentation",
    "did not find expected '-' indicator": "a list item (-) is expected here: check the indentation",
    "did not find expected ',' or ']'": "the list that was opened with [ is not closed",
    "did not find expected ',' or '}'": "the mapping that was opened with { is not closed",
    "found unexpected end of stream": "the quote that was opened is not closed",
    "did not find expected <document start>": "a new document starts here: put --- on a line before it",
    "block sequence entries are not allowed in this context": (
        "a list item (-) is not expected here: put it on its own line"
    ),
    "did not find expected node content": "a value is missing here",
    "found character that cannot start any token": "a value cannot start with this character: quote it",
}
