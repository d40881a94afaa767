"""Validates pending pods as Karpenter does, with the texts of its events.

Rules: ``Provisioner.Validate`` in ``pkg/controllers/provisioning/provisioner.go`` and
``pkg/apis/v1/nodeclaim_validation.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from karptui.karpenter.labels import KEY_ALIASES, KNOWN_VALUES, NODEPOOL, RESTRICTED_DOMAINS, WELL_KNOWN, is_restricted
from karptui.karpenter.requirements import DOES_NOT_EXIST, OPERATORS, Requirements, parse_integer
from karptui.kube.pod import Pod
from karptui.kube.selectors import NodeSelectorRequirement

_BOUNDS: Final = frozenset({"Gt", "Lt", "Gte", "Lte"})
_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_MAX_NAME: Final = 63
_MAX_PREFIX: Final = 253


def avoids_karpenter(requirements: Requirements) -> bool:
    """Return whether a pod's requirements including preferences exclude all NodePools, so that Karpenter ignores it."""
    pool = requirements.find(NODEPOOL)
    return pool is not None and pool.operator == DOES_NOT_EXIST


def selector_problems(pod: Pod) -> list[str]:
    """Return the errors in a pod's node selector and required node affinity, in Karpenter's words."""
    template = pod.template
    problems = [
        problem
        for key, value in template.node_selector.items()
        for problem in requirement_problems(NodeSelectorRequirement(key, "In", (value,)))
    ]
    for term in template.required_node_terms or ():
        if term.match_fields:
            problems.append("node selector term with matchFields is not supported")
        for expression in term.match_expressions:
            problems.extend(requirement_problems(expression))
    return problems


def requirement_problems(requirement: NodeSelectorRequirement) -> Iterator[str]:
    """Yield the errors in a requirement of a pod or NodePool."""
    key, operator, values = KEY_ALIASES.get(requirement.key, requirement.key), requirement.operator, requirement.values
    if operator not in OPERATORS:
        yield f"key {key} has an unsupported operator {operator} not in [{' '.join(sorted(OPERATORS))}]"
    if is_restricted(key):
        yield (
            f"using label {key} is not allowed as it might interfere with the internal provisioning logic; specify a"
            f" well known label: [{' '.join(sorted(WELL_KNOWN))}], or a custom label that does not use a restricted"
            f" domain: [{' '.join(sorted(RESTRICTED_DOMAINS))}]"
        )
    allowed = KNOWN_VALUES.get(key)
    if allowed is not None and operator == "In":
        yield from _value_problems(requirement, key, allowed)
    for problem in _name_problems(key):
        yield f"key {key} is not a qualified name, {problem}"
    for value in values:
        for problem in _label_value_problems(value):
            yield f"invalid value {value} for key {key}, {problem}"
    if operator == "In" and not values:
        yield f"key {key} with operator In must have a value defined"
    if operator == "In" and requirement.min_values is not None and len(values) < requirement.min_values:
        yield f"key {key} with operator In must have at least minimum number of values defined in 'values' field"
    if operator in _BOUNDS and not _is_bound(values):
        yield f"key {key} with operator {operator} must have a single positive integer value"


def _is_bound(values: tuple[str, ...]) -> bool:
    number = parse_integer(values[0]) if len(values) == 1 else None
    return number is not None and number >= 0


def _value_problems(requirement: NodeSelectorRequirement, key: str, allowed: frozenset[str]) -> Iterator[str]:
    valid = [value for value in requirement.values if value in allowed]
    given = f"[{' '.join(requirement.values)}]"
    expected = " ".join(f"{value}:{{}}" for value in sorted(allowed))
    if not valid:
        yield f"no valid values found in {given} for {key}, expected one of: map[{expected}], got: {given}"
    elif requirement.min_values is not None and len(valid) < requirement.min_values:
        yield (
            f"not enough valid values found in {given} for {key}, expected at least {requirement.min_values} valid"
            f" values from: [{' '.join(sorted(allowed))}], got: {len(valid)}"
        )


def _name_problems(key: str) -> Iterator[str]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        yield (
            f"a qualified name {_NAME_RULE.removesuffix(')')}) with an optional DNS subdomain prefix and '/'"
            " (e.g. 'example.com/MyName')"
        )
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        if len(prefix) > _MAX_PREFIX:
            yield f"prefix part must be no more than {_MAX_PREFIX} bytes"
        if not _SUBDOMAIN.fullmatch(prefix):
            yield f"prefix part {_SUBDOMAIN_RULE}"
    if not name:
        yield "name part must be non-empty"
    elif len(name) > _MAX_NAME:
        yield f"name part must be no more than {_MAX_NAME} bytes"
    if not _NAME.fullmatch(name):
        yield f"name part {_NAME_RULE}"


def _label_value_problems(value: str) -> Iterator[str]:
    if len(value) > _MAX_NAME:
        yield f"must be no more than {_MAX_NAME} bytes"
    if value and not _NAME.fullmatch(value):
        yield _VALUE_RULE
