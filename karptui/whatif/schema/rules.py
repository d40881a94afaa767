"""Run a schema's validation rules (``x-kubernetes-validations``), which are written in CEL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from karptui.kube.cel_library import why_no_cel
from karptui.whatif.field_path import Path
from karptui.whatif.schema.schema import Violation

MISSING: Any = object()
"""No old value: the object is new, or its parts cannot be matched with the old ones'."""
_KEYWORDS = frozenset(
    "true false null in as break const continue else for function if import let loop package namespace return "  # noqa: SIM905 - a table of words
    "var void while".split()
)
_OLD_SELF = re.compile(r"\boldSelf\b")
_STEP = re.compile(r"\.?([A-Za-z_][A-Za-z0-9_]*)|\['([^']*)'\]|\[\"([^\"]*)\"\]|\[(\d+)\]")


class Ruling(NamedTuple):
    """Result of the rules for a value."""

    violations: tuple[Violation, ...]
    unchecked: tuple[str, ...]
    """Rules that could not be read, each with its message: they say nothing of the value."""


def rule_violations(
    value: Any, schema: Mapping[str, Any], *, old: Any = MISSING, faulty: frozenset[Path] = frozenset()
) -> Ruling:
    """Run every rule of a schema over a value.

    Args:
        value: The whole object with defaults filled in.
        old: The object before the change; ``MISSING`` skips rules about changes.
        faulty: Paths whose values do not have the schema's shape; rules over them are not run.
    """
    blocked = frozenset(path[:length] for path in faulty for length in range(len(path) + 1))
    run = _Run(blocked)
    whole = _with_meta(schema)
    run.walk(cel_value(value, whole), whole, cel_value(old, whole) if old is not MISSING else MISSING, ())
    return Ruling(tuple(run.violations), tuple(dict.fromkeys(run.unchecked)))


def escape(name: str) -> str:
    """Write a field name as rules do (``apiserver/pkg/cel/escaping.go``)."""
    if name in _KEYWORDS:
        return f"__{name}__"
    return (
        name.replace("__", "__underscores__").replace(".", "__dot__").replace("-", "__dash__").replace("/", "__slash__")
    )


def cel_value(value: Any, schema: Mapping[str, Any]) -> Any:
    """Give a value the types its schema has in CEL.

    Times stay text, because the library takes none inside of maps: rules that compare them are counted as not run.
    """
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties")
        other = others if isinstance(others, Mapping) else {}
        return {
            (escape(name) if name in properties else name): cel_value(child, properties.get(name, other))
            for name, child in value.items()
        }
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [cel_value(item, items) for item in value]
    if schema.get("type") == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _with_meta(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rules at the top see of the metadata what never changes."""
    metadata = {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}}
    return {**schema, "properties": {**schema.get("properties", {}), "metadata": metadata}}


class _Run:
    def __init__(self, blocked: frozenset[Path]) -> None:
        self._blocked = blocked
        self._ruled: dict[int, bool] = {}
        self.violations: list[Violation] = []
        self.unchecked: list[str] = []

    def walk(self, value: Any, schema: Mapping[str, Any], old: Any, path: Path) -> None:
        if not self._has_rules(schema):
            return
        if path not in self._blocked and value is not None:
            for rule in schema.get("x-kubernetes-validations", ()):
                self._judge(rule, value, old, path)
        if isinstance(value, dict):
            self._walk_mapping(value, schema, old, path)
        elif isinstance(value, list):
            self._walk_list(value, schema, old, path)
        for part in schema.get("allOf", ()):
            self.walk(value, part, old, path)

    def _has_rules(self, schema: Mapping[str, Any]) -> bool:
        rules = self._ruled.get(id(schema))
        if rules is None:
            parts = [schema.get("items"), schema.get("additionalProperties"), *schema.get("allOf", ())]
            inner = (*schema.get("properties", {}).values(), *(part for part in parts if isinstance(part, Mapping)))
            rules = "x-kubernetes-validations" in schema or any(self._has_rules(part) for part in inner)
            self._ruled[id(schema)] = rules
        return rules

    def _walk_mapping(self, value: dict[str, Any], schema: Mapping[str, Any], old: Any, path: Path) -> None:
        before = old if isinstance(old, dict) else {}
        others = schema.get("additionalProperties")
        if isinstance(others, Mapping):
            for name, child in value.items():
                self.walk(child, others, before.get(name, MISSING), (*path, name))
            return
        for name, part in schema.get("properties", {}).items():
            escaped = escape(name)
            if escaped in value:
                self.walk(value[escaped], part, before.get(escaped, MISSING), (*path, name))

    def _walk_list(self, value: list[Any], schema: Mapping[str, Any], old: Any, path: Path) -> None:
        items = schema.get("items")
        if not isinstance(items, Mapping):
            return
        keys = schema.get("x-kubernetes-list-map-keys") if schema.get("x-kubernetes-list-type") == "map" else None
        before = {_key(item, keys): item for item in old} if keys and isinstance(old, list) else {}
        for index, item in enumerate(value):
            matched = before.get(_key(item, keys), MISSING) if keys else MISSING
            self.walk(item, items, matched, (*path, index))

    def _judge(self, rule: Mapping[str, Any], value: Any, old: Any, path: Path) -> None:
        text = str(rule.get("rule", ""))
        is_optional = bool(rule.get("optionalOldSelf"))
        if old is MISSING and not is_optional and _OLD_SELF.search(text):
            return
        names = {"self": value, "oldSelf": None if old is MISSING else old, "hasOld": old is not MISSING}
        verdict = evaluate(_optional(text) if is_optional else text, names)
        if verdict is UNREADABLE:
            self.unchecked.append(str(rule.get("message") or text))
        elif verdict is not True:
            self.violations.append(Violation((*path, *_field_path(rule)), _message(rule, names)))


def _optional(text: str) -> str:
    return f"cel.bind(oldSelf, hasOld ? optional.of(oldSelf) : optional.none(), {text})"


def _key(item: Any, keys: list[str] | None) -> Any:
    return tuple(str(item.get(key)) for key in keys or ()) if isinstance(item, dict) else item


def _message(rule: Mapping[str, Any], names: Mapping[str, Any]) -> str:
    if rule.get("messageExpression"):
        expression = str(rule["messageExpression"])
        text = evaluate(_optional(expression) if rule.get("optionalOldSelf") else expression, names)
        if isinstance(text, str) and text.strip() and "\n" not in text:
            return text
    return str(rule.get("message") or f"failed rule: {rule.get('rule', '')}")


def _field_path(rule: Mapping[str, Any]) -> Path:
    steps: list[str | int] = []
    for name, single, double, index in _STEP.findall(str(rule.get("fieldPath", ""))):
        steps.append(int(index) if index else name or single or double)
    return tuple(steps)


UNREADABLE: Any = object()
"""An expression that this CEL cannot compile."""
FAILED: Any = object()
"""An expression that has no result for these values; the API server counts it as broken."""


def evaluate(expression: str, names: Mapping[str, Any]) -> Any:
    """Evaluate an expression.

    Returns:
        Its value, ``UNREADABLE`` or ``FAILED``.
    """
    program = None if why_no_cel() else _compiled(expression)
    if program is None:
        return UNREADABLE
    try:
        result = program.eval(data=dict(names))
        value = result.plain_value()
    except (RuntimeError, SystemError, TypeError):
        # Not convertible by the library: text that is not Unicode, results of types that Python lacks.
        return FAILED
    if result.type().name() != "ERROR":
        return value
    # Types are checked when a CRD is created, so a function that is not there for these types is one we lack.
    return UNREADABLE if "overload" in str(value).lower() else FAILED


@lru_cache(maxsize=16384)
def fits_pattern(text: str, pattern: str) -> bool:
    """Say whether a pattern of a schema is found in a text, by the engine that Go has too: linear whatever they are.

    A pattern that cannot be read fits everything, as does any without that engine.
    """
    return evaluate("self.matches(oldSelf)", {"self": text, "oldSelf": pattern, "hasOld": False}) is not False


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> Any:
    try:
        return _environment().compile(expression)
    except RuntimeError:
        return None


@cache
def _environment() -> Any:
    # 20 ms of native libraries, which a session that never edits does not need.
    from cel_expr_python import cel  # noqa: PLC0415
    from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings  # noqa: PLC0415

    from karptui.whatif.schema.cel import declarations  # noqa: PLC0415

    return cel.NewEnv(
        variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN, "hasOld": cel.Type.BOOL},
        extensions=[
            ext_strings.ExtStrings(),
            ext_optional.ExtOptional(),
            ext_math.ExtMath(),
            ext_bindings.ExtBindings(),
        ],
        functions=declarations(),
    )
