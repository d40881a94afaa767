"""The filter language: words, ``!words``, ``-l k=v`` and typed comparisons, joined by spaces; all must hold.

``runner !spot -l team=ci cpu>80% mem<=4Gi age<2h pool=spot*,general``. Words are looked for anywhere in what
identifies a row, without regard to case; ``*`` and ``?`` are wildcards. Quotes keep blanks together and make a
comparison a plain word.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from fnmatch import translate
from typing import Any, Final, Generic

import msgspec

from karptui.errors import RequestError
from karptui.views.column import Field, FieldKind, Fields, ItemT, example, parse_amount

_SET_BASED: Final = re.compile(r"^(?P<key>[^\s=!,()]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)$")
_COMMA: Final = re.compile(r",(?![^()]*\))")
_QUOTES: Final = re.compile(r"[\"'`“”‘’]")
_VALUE: Final = re.compile(r"^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$")
"""What Kubernetes allows; nothing else can ever match."""
_KEY: Final = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$")


class LabelTest(msgspec.Struct, frozen=True):
    """One requirement on labels."""

    key: str
    values: frozenset[str]
    """Allowed (or, negated, refused) values; empty asks only whether the label is there."""
    negated: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels satisfy it. As in Kubernetes, ``!=`` and ``notin`` hold for a missing label."""
        value = labels.get(self.key)
        if not self.values:
            return (value is None) is self.negated
        return (value in self.values) is not self.negated


def parse_label_query(text: str) -> tuple[LabelTest, ...]:
    """Parse ``k=v,k!=v,k,!k,k in (a,b),k notin (a,b)``.

    Raises:
        ValueError: if a part cannot be read; the message names it.
    """
    parts = [part.strip() for part in _COMMA.split(text)]
    return tuple(_parse_part(part) for part in parts if part)


def _parse_part(part: str) -> LabelTest:
    if match := _SET_BASED.match(part):
        key = _key(match["key"], part)
        values = frozenset(_value(value.strip(), part) for value in match["values"].split(","))
        return LabelTest(key, values, negated=match["operator"] == "notin")
    for operator, negated in (("!=", True), ("==", False), ("=", False)):
        key, separator, value = part.partition(operator)
        if separator:
            return LabelTest(_key(key.strip(), part), frozenset({_value(value.strip(), part)}), negated=negated)
    if part.startswith("!"):
        return LabelTest(_key(part[1:].strip(), part), frozenset(), negated=True)
    return LabelTest(_key(part, part), frozenset())


def _key(key: str, part: str) -> str:
    if not _KEY.match(key):
        _refuse_quotes(part)
        raise ValueError(f"{part!r} is not a label selector: write k=v, k!=v, k, !k or 'k in (a,b)'")
    return key


def _value(value: str, part: str) -> str:
    if not _VALUE.match(value):
        _refuse_quotes(part)
        raise ValueError(f"{value!r} in {part!r} cannot be the value of a label: letters, digits, '-', '_' and '.' can")
    return value


def _refuse_quotes(part: str) -> None:
    """Reject quotes left by a shell or script."""
    bare = _QUOTES.sub("", part)
    if bare != part:
        raise ValueError(f"{part} contains quotes, which a label cannot: write {bare}")


_TYPED: Final = re.compile(r"^(?P<name>[A-Za-z$][\w.$-]*|\$)(?P<operator><=|>=|!=|==|=|<|>)(?P<value>.*)$", re.DOTALL)
_ORDER: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}


class QueryError(RequestError):
    """A filter that cannot be parsed; its message is for the user."""


class Subject(msgspec.Struct, Generic[ItemT], frozen=True):
    """The filterable fields of one kind of item."""

    text: Callable[[ItemT], str]
    """Lower-case text that plain words are looked for in."""
    fields: Fields[ItemT]
    labels: Callable[[ItemT], Mapping[str, str]] | None = None
    """Labels for ``-l``; None when such items have none."""


class WordTerm(msgspec.Struct, frozen=True):
    """A plain word."""

    word: str
    """Lower case."""
    negated: bool = False


class LabelTerm(msgspec.Struct, frozen=True):
    """A label selector."""

    tests: tuple[LabelTest, ...]
    negated: bool = False


class FieldTerm(msgspec.Struct, frozen=True):
    """A typed comparison."""

    name: str
    operator: str
    value: str
    """Text alternatives separated by commas, in lower case; for numbers the text as typed."""
    amount: float | None = None
    """The number compared with, in the unit of the field or in percent; None for text."""
    is_share: bool = False
    """Whether ``amount`` is a percentage."""
    negated: bool = False


class Query(msgspec.Struct, frozen=True):
    """A filter that was understood; without terms it lets everything through."""

    text: str = ""
    terms: tuple[WordTerm | LabelTerm | FieldTerm, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)


EVERYTHING: Final = Query()


def parse_query(text: str, subject: Subject[Any]) -> Query:
    """Parse a filter for one kind of item.

    Raises:
        QueryError: if a word cannot be read; the message names it and the accepted words.
    """
    words = iter(_split(text))
    terms: list[WordTerm | LabelTerm | FieldTerm] = []
    for word, is_quoted in words:
        if word == "-l" and not is_quoted:
            terms.append(_label_term(next(words, ("", False))[0], subject))
            continue
        negated = word.startswith("!") and not is_quoted
        body = word[1:] if negated else word
        if not body:
            raise QueryError("! needs a word after it: !spot hides every row that contains spot")
        match = None if is_quoted else _TYPED.match(body)
        terms.append(_field_term(match, subject, negated=negated) if match else WordTerm(body.lower(), negated))
    return Query(text.strip(), tuple(terms))


def compile_query(query: Query, subject: Subject[ItemT], now_ns: int) -> Callable[[ItemT], bool]:
    """Return the test that an item passes when every term holds for it."""
    tests = [_compile_term(term, subject, now_ns) for term in query.terms]
    if len(tests) == 1:
        return tests[0]
    return lambda item: all(test(item) for test in tests)


def _compile_term(
    term: WordTerm | LabelTerm | FieldTerm, subject: Subject[ItemT], now_ns: int
) -> Callable[[ItemT], bool]:
    if isinstance(term, WordTerm):
        return _word_test(term, subject.text)
    if isinstance(term, LabelTerm):
        labels = subject.labels
        if labels is None:
            return lambda _: False
        return lambda item: all(test.matches(labels(item)) for test in term.tests) is not term.negated
    field = subject.fields[term.name]
    if term.amount is None:
        return _text_test(term, field, now_ns)
    return _amount_test(term, field, now_ns)


def _word_test(term: WordTerm, text: Callable[[ItemT], str]) -> Callable[[ItemT], bool]:
    if "*" in term.word or "?" in term.word:
        pattern = re.compile(translate(f"*{term.word}*"))
        return lambda item: (pattern.match(text(item)) is not None) is not term.negated
    return lambda item: (term.word in text(item)) is not term.negated


def _text_test(term: FieldTerm, field: Field[ItemT], now_ns: int) -> Callable[[ItemT], bool]:
    patterns = [re.compile(translate(option.strip())) for option in term.value.split(",")]
    is_expected = (term.operator != "!=") is not term.negated

    def matches(item: ItemT) -> bool:
        value = field.value(item, now_ns)
        texts = value if isinstance(value, tuple) else ("" if value is None else str(value),)
        return any(pattern.match(text.lower()) for pattern in patterns for text in texts or ("",)) is is_expected

    return matches


def _amount_test(term: FieldTerm, field: Field[ItemT], now_ns: int) -> Callable[[ItemT], bool]:
    compare, amount, share = _ORDER[term.operator], term.amount or 0.0, field.share

    def matches(item: ItemT) -> bool:
        value = share(item) if term.is_share and share else field.value(item, now_ns)
        if not isinstance(value, int | float):
            return False
        return compare(value, amount) is not term.negated

    return matches


def _label_term(text: str, subject: Subject[Any]) -> LabelTerm:
    if not text:
        raise QueryError("-l needs a label selector after it, such as -l team=ci")
    if subject.labels is None:
        raise QueryError("rows of this screen have no labels to select by")
    try:
        return LabelTerm(parse_label_query(text))
    except ValueError as error:
        raise QueryError(str(error)) from error


def _field_term(match: re.Match[str], subject: Subject[Any], *, negated: bool) -> FieldTerm:
    name, value = match["name"].lower(), match["value"].strip()
    operator = "=" if match["operator"] == "==" else match["operator"]
    field = subject.fields.get(name)
    if field is None:
        raise QueryError(_unknown_field(match[0], name, subject.fields))
    if field.kind is FieldKind.TEXT:
        if operator not in ("=", "!="):
            raise QueryError(f"{name} is text: use {name}=… or {name}!=…, not {match[0]}")
        return FieldTerm(name, operator, value.lower(), negated=negated)
    is_share = value.endswith("%") and field.share is not None
    try:
        amount = float(value.removesuffix("%")) if is_share else parse_amount(field.kind, value)
    except ValueError as error:
        values = example(field.kind, has_share=field.share is not None)
        text = f"{value!r} is not one" if value else "nothing follows"
        raise QueryError(f"{name}{operator} takes a value such as {values}; {text}") from error
    return FieldTerm(name, operator, value, amount, is_share, negated)


def _unknown_field(word: str, name: str, fields: Fields[Any]) -> str:
    near = difflib.get_close_matches(name, fields, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(fields)}."
    return f'no field is called {name}: {hint} To look for the text itself, write "{word}".'


def _split(text: str) -> list[tuple[str, bool]]:
    """Return the words and whether each began with a quote; an unclosed quote ends with the text."""
    words: list[tuple[str, bool]] = []
    position, end = 0, len(text)
    while position < end:
        if text[position].isspace():
            position += 1
            continue
        is_quoted = text[position] in "'\""
        word: list[str] = []
        quote = ""
        while position < end and (quote or not text[position].isspace()):
            char = text[position]
            if quote:
                if char == quote:
                    quote = ""
                else:
                    word.append(char)
            elif char in "'\"":
                quote = char
            else:
                word.append(char)
            position += 1
        if word:
            words.append(("".join(word), is_quoted))
    return words
