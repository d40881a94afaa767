"""The ``--scheduler-config`` document: default topology spread constraints.

Source: ``ParseSchedulerConfiguration`` of pkg/operator/options/options.go, with ``UnmarshalStrict`` of
sigs.k8s.io/yaml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from karptui.kube.pod import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY, TopologySpreadConstraint

_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_PREFIX: Final = 253
_LARGEST_INT32: Final = (1 << 31) - 1

_Shape: TypeAlias = "type | Mapping[str, _Shape] | list[_Shape]"
_CONSTRAINT: Final[Mapping[str, _Shape]] = {
    "maxSkew": int,
    "topologyKey": str,
    "whenUnsatisfiable": str,
    "minDomains": int,
    "nodeAffinityPolicy": str,
    "nodeTaintsPolicy": str,
    "labelSelector": object,
    "matchLabelKeys": [str],
}
_DOCUMENT: Final[Mapping[str, _Shape]] = {"podTopologySpread": {"defaultConstraints": [_CONSTRAINT]}}
_WANTED: Final[Mapping[type, str]] = {int: "a whole number", str: "text"}


class SpreadError(ValueError):
    """Karpenter would not start with this document."""


def parse_scheduler_config(text: str) -> tuple[TopologySpreadConstraint, ...]:
    """Return the default constraints in a scheduler configuration (YAML or JSON).

    Raises:
        SpreadError: If it is invalid, with the reason.
    """
    document = read_document(text)
    constraints: list[TopologySpreadConstraint] = []
    for i, entry in enumerate((document.get("podTopologySpread") or {}).get("defaultConstraints") or ()):
        constraint = TopologySpreadConstraint(
            max_skew=entry.get("maxSkew") or 0,
            topology_key=entry.get("topologyKey") or "",
            when_unsatisfiable=entry.get("whenUnsatisfiable") or "",
            min_domains=entry.get("minDomains"),
            node_affinity_policy=entry.get("nodeAffinityPolicy"),
            node_taints_policy=entry.get("nodeTaintsPolicy"),
        )
        has_selector = entry.get("labelSelector") is not None or bool(entry.get("matchLabelKeys"))
        if problem := _problem(constraint, constraints, has_selector=has_selector):
            raise SpreadError(f"podTopologySpread.defaultConstraints[{i}]: {problem}")
        constraints.append(constraint)
    return tuple(constraints)


def read_document(text: str) -> dict[str, Any]:
    """Return the document as Karpenter reads it, with canonical field names, without validating values.

    Raises:
        SpreadError: If it cannot be read.
    """
    if not text.strip():
        return {}
    from karptui.kube.yaml_reader import YamlError, load_first  # noqa: PLC0415 - slow to import and rarely used

    try:
        return _read(load_first(text.encode()), _DOCUMENT, None, "") or {}
    except (YamlError, UnicodeError) as error:
        raise SpreadError(f"cannot be read: {error}") from None


def _read(value: Any, shape: _Shape, before: Any, where: str) -> Any:
    """Return a value in the given shape, as Go's JSON decoder fills a struct: field names match in any case.

    Args:
        before: Value of the same field written earlier with different case.
    """
    if value is None:
        # As in Go, null clears lists and mappings, and leaves text and numbers unchanged.
        return before if isinstance(shape, type) else None
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise _misfit(value, "a list", where)
        return [_read(item, shape[0], None, f"{where}[{i}]") or _empty(shape[0]) for i, item in enumerate(value)]
    if isinstance(shape, Mapping):
        return _read_fields(value, shape, before, where)
    if shape is str:
        from karptui.kube.yaml_text import Scalar, key_text  # noqa: PLC0415 - only needed with YAML

        text = key_text(value) if isinstance(value, Scalar) else None
        if text is None:
            raise _misfit(value, _WANTED[str], where)
        return text
    return _read_number(value, where) if shape is int else value


def _empty(shape: _Shape) -> Any:
    return shape() if isinstance(shape, type) else {}


def _read_fields(value: Any, shape: Mapping[str, _Shape], before: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _misfit(value, "a mapping", where)
    names = {name.lower(): name for name in shape}
    fields: dict[str, Any] = dict(before or {})
    for key in sorted(value):
        name = key if key in shape else names.get(key.replace("ſ", "s").lower())
        if name is None:
            raise SpreadError(f"cannot be read: {where or 'the document'} has no field {key!r:.60}")
        fields[name] = _read(value[key], shape[name], fields.get(name), f"{where}.{name}".lstrip("."))
    return fields


def _read_number(value: Any, where: str) -> int:
    is_whole = isinstance(value, float) and value.is_integer()
    if isinstance(value, bool) or not (is_whole or isinstance(value, int)) or abs(value) > _LARGEST_INT32:
        raise _misfit(value, _WANTED[int], where)
    return int(value)


def _misfit(value: Any, expected: str, where: str) -> SpreadError:
    shown = "a list" if isinstance(value, list) else "a mapping" if isinstance(value, Mapping) else repr(value)
    return SpreadError(f"cannot be read: {where or 'the document'} is {shown:.60}, must be {expected}")


def _problem(
    constraint: TopologySpreadConstraint, before: list[TopologySpreadConstraint], *, has_selector: bool
) -> str:
    if constraint.max_skew <= 0:
        return "maxSkew must be greater than 0"
    if not _is_label_name(constraint.topology_key):
        return f"topologyKey {constraint.topology_key!r} is not a valid label name"
    if constraint.when_unsatisfiable not in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY):
        return f"whenUnsatisfiable must be {DO_NOT_SCHEDULE} or {SCHEDULE_ANYWAY}"
    if has_selector:
        return "labelSelector and matchLabelKeys are not allowed"
    pairs = {(other.topology_key, other.when_unsatisfiable) for other in before}
    if (constraint.topology_key, constraint.when_unsatisfiable) in pairs:
        return "repeats the topologyKey and whenUnsatisfiable of an earlier constraint"
    return ""


def _is_label_name(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _MAX_PREFIX or not _PREFIX.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None
