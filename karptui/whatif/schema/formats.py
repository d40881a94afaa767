"""String and number formats that the API server checks, and descriptions of common patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache

_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)\Z")
_BYTES = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z")
_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_PATTERN_WORDS = {
    r"^(([0-9]+(s|m|h))+|Never)$": "a duration such as 30s, 5m or 720h, or Never",
    r"^([0-9]+(s|m|h))+$": "a duration such as 30s, 5m or 720h",
    r"^((100|[0-9]{1,2})%|[0-9]+)$": "a number of nodes, or a percentage such as 10%",
    r"^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$": "a duration in hours and minutes such as 8h or 1h30m",
    r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$": (
        "a cron schedule of five fields such as 0 9 * * mon-fri, or @daily and the like"
    ),
    rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$": "a quantity such as 500m, 16, 64Gi",
    rf"^({_DOMAIN}(\.{_DOMAIN})*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$": (
        "letters, digits, - _ and . with an optional prefix, such as example.com/team"
    ),
    r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$": (
        "letters, digits, - _ and . that start and end with one of the first two"
    ),
}


def pattern_words(pattern: str) -> str:
    """Return a description of a pattern."""
    return _PATTERN_WORDS.get(pattern) or f"text that matches {pattern}"


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """Compile a Go pattern; None if Python has no equivalent."""
    try:
        return re.compile(go_pattern(pattern), re.ASCII)
    except re.error:
        return None


def go_pattern(pattern: str) -> str:
    r"""Write a Go pattern so that Python means the same: ``$`` and ``\z`` are the very end."""
    parts: list[str] = []
    position = 0
    in_class = False
    while position < len(pattern):
        character = pattern[position]
        if character == "\\" and position + 1 < len(pattern):
            escaped = pattern[position : position + 2]
            parts.append(r"\Z" if escaped == r"\z" else escaped)
            position += 2
            continue
        if character == "[":
            in_class = True
        elif character == "]":
            in_class = False
        parts.append(r"\Z" if character == "$" and not in_class else character)
        position += 1
    return "".join(parts)


def format_fault(value: object, name: str) -> str | None:
    """Return the format that a value violates, or None; formats that the API server skips are skipped."""
    if name in _RANGES and isinstance(value, int):
        low, high = _RANGES[name]
        return None if low <= value <= high else f"must be a whole number between {low:,} and {high:,}"
    check = _TEXT_FORMATS.get(name)
    if check is None or not isinstance(value, str):
        return None
    is_right, words = check
    return None if is_right(value) else f"must be {words}"


def _is_date_time(text: str) -> bool:
    if not _DATE_TIME.match(text):
        return False
    try:
        datetime.fromisoformat(text.upper())
    except ValueError:
        return False
    return True


_TEXT_FORMATS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "date-time": (_is_date_time, "a time such as 2026-01-31T09:00:00Z"),
    "date": (lambda text: bool(re.match(r"\d{4}-\d\d-\d\d\Z", text)), "a date such as 2026-01-31"),
    "byte": (lambda text: bool(_BYTES.match(text)), "base64"),
}
