"""The one reader of YAML: text from outside becomes values that JSON could hold, within bounds.

Scalars have the meaning that kubectl gives them (``yaml_scalars``). The C parser delivers events, and a stack builds
the values. Depth, values, and values copied by aliases and ``<<`` are counted while they are built. The time is
therefore bounded too: it grows with the text and these counts, and a small text never costs much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, NoReturn

import yaml

from karptui.kube.yaml_scalars import Scalar, key_text, resolve_plain

MAX_DEPTH: Final = 100
"""Levels of nesting; Kubernetes' own kinds stay below 30, schemas of CRDs below 60."""
MAX_VALUES: Final = 20_000_000
"""Values of one text: about 280 MB of pods, which take a minute to read."""
MAX_COPIED: Final = 1_000_000
"""Values that aliases and ``<<`` may add to one text."""
MAX_DIRECTIVES: Final = 100
"""Directives (``%TAG``) of one text: the C parser compares each with all others."""

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
    """A position in a text; all three count from 0, in characters."""

    position: int
    line: int
    column: int


class YamlError(ValueError):
    """Text that is not YAML, or YAML that no API object can be; the message tells the line."""

    def __init__(self, problem: str, start: Place | None = None, end: int = 0) -> None:
        where = f"line {start.line + 1}, column {start.column + 1}: " if start is not None else ""
        super().__init__(f"{where}{problem}")
        self.problem = problem
        """The message without the line."""
        self.start = start.position if start is not None else 0
        """Position of the first character that is at fault."""
        self.end = max(end, self.start + 1)


class OpenCollection:
    """A mapping or list whose end the parser has not reached."""

    __slots__ = ("event", "items", "names", "values_before")

    def __init__(self, event: Any, values_before: int) -> None:
        self.event = event
        self.items: list[Any] = []
        """Of a mapping: keys and values in turn."""
        self.names: list[str | None] | None = [] if isinstance(event, yaml.MappingStartEvent) else None
        """Of a mapping: the name of each key, None for ``<<``."""
        self.values_before = values_before


class YamlReader:
    """Reads each document of a text as a value; a subclass makes other items of them, such as nodes with places."""

    max_values = MAX_VALUES

    def __init__(self, text: str | bytes) -> None:
        self._text = text
        self._values = 0
        self._copied = 0
        self._open: list[OpenCollection] = []
        self._anchors: dict[str, tuple[Any, int]] = {}

    def scalar(self, event: Any, value: Scalar) -> Any:  # noqa: ARG002 - for subclasses, as in the next three
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
        """Handle a name that a mapping has twice, by ``<<`` if it has no key; the later one counts, or its own."""

    def problem(self, event: Any, message: str) -> None:
        """Handle a value that no API object can hold."""
        self.refuse(event, message)

    def misplaced_merge(self, event: Any, item: Any) -> None:  # noqa: ARG002
        """Handle a ``<<`` whose value is no mapping."""
        self.problem(event, "<< merges mappings only")

    def refuse(self, event: Any, message: str) -> NoReturn:
        """Stop reading at the place of an event."""
        mark = event.start_mark
        raise YamlError(message, Place(mark.index, mark.line, mark.column), event.end_mark.index)

    def documents(self) -> Iterator[Any]:
        """Return the item of each document.

        Raises:
            YamlError: when the text is not YAML, or beyond the bounds.
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
            self.problem(start, f"the tag {_shown(start.tag)} does not fit {_NOUNS[names is None]}")
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
        """Add what ``<<`` adds to a mapping: of several sources the first counts."""
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
        """Return the name of a field; None for a ``<<`` without quotes."""
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
            self.problem(event, f"the tag {_shown(event.tag)} means nothing to Kubernetes")
            return text
        kind, wanted = _WANTED[tag]
        value = resolve_plain(text)
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            self.problem(event, f"{text:.60} cannot be {wanted}")
        return value


class _StrictReader(YamlReader):
    """Refuses a mapping that has a name twice, itself or through ``<<``."""

    def duplicate(self, event: Any, name: str, key: Any | None) -> None:  # noqa: ARG002
        self.refuse(event, f"the key {name!r:.60} is in one mapping twice")


def load_documents(text: bytes | str) -> list[Any]:
    """Return the documents of a YAML stream as kubectl reads them; empty ones are left out.

    Raises:
        YamlError: when it is not YAML, or beyond the bounds.
    """
    return [document for document in YamlReader(text).documents() if document is not None]


def load_first(text: bytes) -> Any:
    """Return the first document as strict readers of Kubernetes do: the others are not read, no key may be there twice.

    Raises:
        YamlError: as with `load_documents`, and for a key that is in one mapping twice.
    """
    return next(_StrictReader(text).documents(), None)


def _shown(tag: str) -> str:
    return f"{tag.replace(_TAG, '!!'):.60}"


def _syntax_error(data: str | bytes, error: Any) -> YamlError:
    """Return the parser's complaint in plain words, at the place that has to be corrected."""
    text = data if isinstance(data, str) else data.decode(errors="replace")
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    if problem in _AT_THEIR_START:
        # The opening bracket or quote is at fault, not the end of the text.
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
    "could not find expected ':'": "a colon is missing behind the field name",
    "did not find expected key": "a field name is expected here: check the indentation",
    "did not find expected '-' indicator": "a list item (-) is expected here: check the indentation",
    "did not find expected ',' or ']'": "the list that was opened with [ is not closed",
    "did not find expected ',' or '}'": "the mapping that was opened with { is not closed",
    "found unexpected end of stream": "the quote that was opened is not closed",
    "did not find expected <document start>": "another document starts here: put --- on a line before it",
    "block sequence entries are not allowed in this context": (
        "a list item (-) is not expected here: put it on a line of its own"
    ),
    "did not find expected node content": "a value is missing here",
    "found character that cannot start any token": "a value cannot start with this character: quote it",
}
