"""Write values as YAML as people do: block style, short lists in brackets, quotes only if needed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from karptui.kube.hidden_text import HIDDEN, escaped
from karptui.kube.objects import SERVERS_OWN
from karptui.kube.yaml_text import is_text_in_yaml11, resolve_plain

WIDTH = 100
"""Longest list in brackets, with its indentation."""
_PLAIN = re.compile(r"[A-Za-z0-9_./~^+*-][A-Za-z0-9_./@%+=~^:*$<>()-]*(?: [A-Za-z0-9_./@%+=~^:*$<>()-]+)*\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")
_RISKY_START = re.compile(r"[*]|-(?:\s|\Z)|---|\.\.\.")


class UnwritableError(ValueError):
    """A value that YAML for Kubernetes cannot hold."""


def write_scalar(value: Any, *, quote: str = "") -> str:
    """Write a scalar on one line.

    Args:
        value: Text, number, boolean or None.
        quote: Quote character of the old text, kept if possible.

    Raises:
        UnwritableError: for infinity and values that are not scalars.
    """
    if isinstance(value, str):
        return _write_text(value, quote)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and math.isfinite(value):
        return repr(value)
    raise UnwritableError(f"{value!r} cannot be written")


def write_flow(value: Any) -> str:
    """Write a value on one line, collections in braces and brackets."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{write_scalar(key)}: {write_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(write_flow(item) for item in value) + "]"
    return write_scalar(value)


def write_block(value: Any, *, indent: int, list_indent: int = 2) -> list[str]:
    """Write a collection as lines, without the indentation of the first level.

    Args:
        value: A non-empty mapping or list.
        indent: Indentation of the lines; limits the length of lists in brackets.
        list_indent: Indentation of a list relative to its field.
    """
    if isinstance(value, dict):
        return [
            line
            for key, item in value.items()
            for line in write_field(key, item, indent=indent, list_indent=list_indent)
        ]
    lines: list[str] = []
    for item in value:
        if is_block(item, indent + 2):
            inner = write_block(item, indent=indent + 2, list_indent=list_indent)
            lines += ["- " + inner[0], *("  " + line if line else line for line in inner[1:])]
        else:
            lines.append("- " + write_flow(item))
    return lines


def write_field(name: str, value: Any, *, indent: int, list_indent: int = 2) -> list[str]:
    """Write a field with its value as lines, see ``write_block``."""
    key = write_scalar(name)
    if isinstance(value, str) and _is_literal(value):
        return _literal(key, value)
    if not is_block(value, indent + len(key) + 2):
        return [f"{key}: {write_flow(value)}"]
    step = list_indent if isinstance(value, list | tuple) else 2
    inner = write_block(value, indent=indent + step, list_indent=list_indent)
    return [f"{key}:", *(" " * step + line if line else line for line in inner)]


def is_block(value: Any, column: int) -> bool:
    """Return whether a value goes on separate lines: mappings, and lists that do not fit in brackets."""
    if isinstance(value, dict):
        return bool(value)
    if not isinstance(value, list | tuple) or not value:
        return False
    return not _is_short(value, column)


def _is_short(value: Sequence[Any], column: int) -> bool:
    if any(isinstance(item, dict | list | tuple) for item in value):
        return False
    return column + len(write_flow(value)) <= WIDTH


def _write_text(text: str, quote: str) -> str:
    has_special = bool(HIDDEN.search(text)) or "\n" in text or "\t" in text
    if quote == "'" and not has_special:
        return "'" + text.replace("'", "''") + "'"
    if not quote and _is_plain(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    if _SURROGATE.search(text):
        raise UnwritableError("half of a character (a lone surrogate) cannot be written")
    return escaped(quoted)


def _is_plain(text: str) -> bool:
    if not _PLAIN.match(text) or _RISKY_START.match(text) or ": " in text or text.endswith(":"):
        return False
    # Other readers hold a few more words for numbers and times, 12:30:45 for one; those are quoted too.
    return resolve_plain(text) == text and isinstance(resolve_plain(text), str) and is_text_in_yaml11(text)


def _is_literal(text: str) -> bool:
    if "\n" not in text or text.endswith("\n\n") or text[0] in " \n\t" or HIDDEN.search(text) or "\t" in text:
        return False
    return not any(line != line.rstrip() for line in text.split("\n"))


def _literal(key: str, text: str) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    return [f"{key}: {'|' if text.endswith(chr(10)) else '|-'}", *("  " + line if line else line for line in lines)]


_NOISE: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})
_ORDER: Final = tuple(
    name
    for line in (
        "apiVersion group kind metadata name generateName namespace labels annotations",
        "key operator values value minValues effect replicas weight limits selector",
        "template spec nodeClassRef requirements taints startupTaints expireAfter terminationGracePeriod",
        "disruption consolidationPolicy consolidateAfter nodes reasons schedule duration budgets",
        "serviceName serviceAccountName priorityClassName nodeSelector affinity tolerations topologySpreadConstraints",
        "initContainers containers volumes image command args env ports resources requests",
        "amiFamily amiSelectorTerms role instanceProfile subnetSelectorTerms securityGroupSelectorTerms kubelet",
    )
    for name in line.split()
)
_RANKS: Final = {name: rank for rank, name in enumerate(_ORDER)}
_BY_NAME: Final = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "requests", "limits", "capacity"})


def as_document(raw: Mapping[str, Any]) -> str:
    """Write an object as YAML without what only the API server writes: status, managed fields, versions.

    Fields come in the order people write them, the rest by name, so that the same object gives the same text.
    """
    cleaned = clean_object(raw)
    lines = [line for name, value in ordered(cleaned).items() for line in write_field(name, value, indent=0)]
    return "\n".join(lines) + "\n"


def clean_object(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Copy an object without what only the API server writes."""
    cleaned = {name: value for name, value in raw.items() if name != "status"}
    metadata = cleaned.get("metadata")
    if isinstance(metadata, Mapping):
        kept = {name: value for name, value in metadata.items() if name not in SERVERS_OWN}
        annotations = kept.get("annotations")
        if isinstance(annotations, Mapping):
            kept["annotations"] = {name: value for name, value in annotations.items() if name not in _NOISE}
            if not kept["annotations"]:
                del kept["annotations"]
        cleaned["metadata"] = kept
    return cleaned


def ordered(value: Any, around: str = "") -> Any:
    """Copy a value with its fields in the order of ``as_document``."""
    if isinstance(value, Mapping):
        names = sorted(value, key=lambda name: (0 if around in _BY_NAME else _RANKS.get(name, len(_ORDER)), name))
        return {name: ordered(value[name], name) for name in names}
    if isinstance(value, list | tuple):
        return [ordered(item) for item in value]
    return value
