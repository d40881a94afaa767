"""Topology spread constraints for pods that state none: the document that Karpenter takes with ``--scheduler-config``.

Rules: ``pkg/operator/options/options.go`` of v1.15.0.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from karptui.kube.pod import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY, TopologySpreadConstraint

_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_PREFIX: Final = 253


class SpreadError(ValueError):
    """A document that Karpenter would not start with."""


class _Constraint(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    label_selector: Any = None
    match_label_keys: list[str] | None = None


class _Spread(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    default_constraints: list[_Constraint] | None = None


class _Document(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    pod_topology_spread: _Spread | None = None


def parse_scheduler_config(text: str) -> tuple[TopologySpreadConstraint, ...]:
    """Return the default constraints of a scheduler configuration in YAML or JSON.

    Raises:
        SpreadError: with what is wrong with it.
    """
    if not text.strip():
        return ()
    try:
        document = msgspec.yaml.decode(text, type=_Document | None)
    except msgspec.DecodeError as error:
        raise SpreadError(f"cannot be read: {error}") from None
    spread = document.pod_topology_spread if document is not None else None
    found: list[TopologySpreadConstraint] = []
    for i, one in enumerate((spread.default_constraints if spread is not None else None) or ()):
        problem = _problem(one, found)
        if problem:
            raise SpreadError(f"podTopologySpread.defaultConstraints[{i}]: {problem}")
        found.append(
            TopologySpreadConstraint(
                max_skew=one.max_skew,
                topology_key=one.topology_key,
                when_unsatisfiable=one.when_unsatisfiable,
                min_domains=one.min_domains,
                node_affinity_policy=one.node_affinity_policy,
                node_taints_policy=one.node_taints_policy,
            )
        )
    return tuple(found)


def _problem(one: _Constraint, before: list[TopologySpreadConstraint]) -> str:
    if one.max_skew <= 0:
        return "maxSkew must be greater than 0"
    if not _is_label_name(one.topology_key):
        return f"topologyKey {one.topology_key!r} is no label name"
    if one.when_unsatisfiable not in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY):
        return f"whenUnsatisfiable must be {DO_NOT_SCHEDULE} or {SCHEDULE_ANYWAY}"
    if one.label_selector is not None or one.match_label_keys:
        return "labelSelector and matchLabelKeys are not allowed"
    pairs = {(other.topology_key, other.when_unsatisfiable) for other in before}
    if (one.topology_key, one.when_unsatisfiable) in pairs:
        return "the same topologyKey and whenUnsatisfiable again"
    return ""


def _is_label_name(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _MAX_PREFIX or not _PREFIX.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None
