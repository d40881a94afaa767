"""The hash annotations that Karpenter would write for edited NodePools and EC2NodeClasses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from karptui.aws.nodeclass import ALIASES
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import NodePool
from karptui.whatif.drift.go_hash import HashError, is_zero, text_hash, value_hash
from karptui.whatif.drift.hashed_fields import EC2_NODECLASS_SPEC, NODEPOOL_TEMPLATE
from karptui.whatif.drift.shape import Field, Record

_CUSTOM: Final = "Custom"


def nodepool_hash(pool: NodePool) -> str | None:
    """Return what ``karpenter.sh/nodepool-hash`` of a NodePool is, None where it cannot be worked out."""
    try:
        return str(value_hash(_template(pool), NODEPOOL_TEMPLATE))
    except HashError:
        return None


def ec2_nodeclass_hash(nodeclass: NodeClass, *, ca_bundle: str = "") -> str | None:
    """Return what ``karpenter.k8s.aws/ec2nodeclass-hash`` is, None where it cannot be worked out.

    Args:
        nodeclass: An EC2NodeClass.
        ca_bundle: The cluster's, which only the controller knows.
    """
    own = _nodeclass_part(nodeclass)
    return None if own is None else str(own ^ text_hash(ca_bundle))


def shifted_nodeclass_hash(annotation: str, before: NodeClass, after: NodeClass) -> str | None:
    """Return what an EC2NodeClass's hash becomes; the part that only the controller knows stays in it."""
    old, new = _nodeclass_part(before), _nodeclass_part(after)
    if old is None or new is None or not annotation.isdecimal():
        return None
    return str(int(annotation) ^ old ^ new)


def changed_nodepool_fields(before: NodePool, after: NodePool) -> tuple[str, ...]:
    """Return the paths of the hashed fields in which two NodePools differ."""
    return tuple(f"spec.template.{path}" for path in _changed(_template(before), _template(after), NODEPOOL_TEMPLATE))


def changed_nodeclass_fields(before: NodeClass, after: NodeClass) -> tuple[str, ...]:
    """Return the paths of the hashed fields in which two EC2NodeClasses differ."""
    paths = [f"spec.{path}" for path in _changed(before.spec, after.spec, EC2_NODECLASS_SPEC)]
    if ami_family(before.spec) != ami_family(after.spec):
        paths.append("the AMI family")
    return tuple(paths)


def ami_family(spec: Mapping[str, Any]) -> str:
    """Return the AMI family that a spec comes to, as Karpenter hashes it."""
    own = spec.get("amiFamily")
    if isinstance(own, str):
        return own
    for term in spec.get("amiSelectorTerms") or ():
        alias = term.get("alias") if isinstance(term, Mapping) else None
        if isinstance(alias, str) and alias:
            name = alias.partition("@")[0]
            return ALIASES[name].name if name in ALIASES else name
    return _CUSTOM


def _template(pool: NodePool) -> Mapping[str, Any]:
    spec = pool.raw.get("spec")
    template = spec.get("template") if isinstance(spec, Mapping) else None
    return template if isinstance(template, Mapping) else {}


def _nodeclass_part(nodeclass: NodeClass) -> int | None:
    try:
        return value_hash(nodeclass.spec, EC2_NODECLASS_SPEC) ^ text_hash(ami_family(nodeclass.spec))
    except HashError:
        return None


def _changed(before: Any, after: Any, shape: Record) -> Iterator[str]:
    for field in shape.fields:
        old, new = (one.get(field.json_name) if isinstance(one, Mapping) else None for one in (before, after))
        if old == new:
            continue
        if isinstance(field.shape, Record) and isinstance(old or {}, Mapping) and isinstance(new or {}, Mapping):
            yield from (f"{field.json_name}.{path}" for path in _changed(old or {}, new or {}, field.shape))
        elif _field_hash(old, field) != _field_hash(new, field):
            yield field.json_name


def _field_hash(value: Any, field: Field) -> object:
    try:
        return None if is_zero(value, field, "") else value_hash(value, field.shape)
    except HashError:
        return repr(value)
