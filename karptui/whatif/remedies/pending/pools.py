"""Edits of NodePools that may give pods a place: limits, types, taints, requirements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from karptui.karpenter.labels import CAPACITY_TYPE, WELL_KNOWN, ZONE, is_restricted
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import KeyConflict, Requirements, UndefinedKey, parse_integer
from karptui.kube.quantity import NANO
from karptui.kube.resources import CPU, NODES
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.taints import Taint
from karptui.kube.units import counted, is_in_bytes, verb
from karptui.provisioning.catalogue import Catalogue, bits
from karptui.provisioning.explain import PoolExplanation
from karptui.provisioning.prepared import Variant
from karptui.provisioning.rejection import LimitReached, RequirementsUnmet, TaintsNotTolerated, TypesExhausted
from karptui.provisioning.solution import NewClaim
from karptui.provisioning.template import template_requirements
from karptui.provisioning.type_index import NO_PRICE
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField
from karptui.whatif.edits.document import taint_document
from karptui.whatif.field_path import POOL_REQUIREMENTS
from karptui.whatif.remedies.pending.remedy import (
    Attempt,
    AttemptStep,
    RemedyKind,
    UnplacedPods,
    amount_words,
    once,
    quantity_text,
    solved,
)

_IN: Final = "In"


def subject_of(pool: NodePool) -> str:
    """Return a NodePool as the subject of a change."""
    return f"NodePool {pool.name}"


def set_pool(pool: NodePool, path: tuple[str | int, ...], value: Any) -> SetField:
    """Return the edit of one field of a NodePool; None takes the field away."""
    return SetField(ObjectRef("NodePool", pool.name), path, value)


def allow_value(pool: NodePool, index: int, value: str, kind: RemedyKind) -> Attempt | None:
    """Return the change that makes a requirement allow a value; None if it does, or cannot."""
    requirement, path = pool.requirements[index], (*POOL_REQUIREMENTS, index)
    words = f"allow {requirement.key} {value}"
    values = list(requirement.values)
    if requirement.operator == _IN and value not in values:
        return once(kind, subject_of(pool), words, (set_pool(pool, (*path, "values"), [*values, value]),))
    if requirement.operator == "NotIn" and value in values:
        left = [other for other in values if other != value]
        edit = set_pool(pool, (*path, "values"), left) if left else set_pool(pool, path, None)
        return once(kind, subject_of(pool), words, (edit,))
    number = parse_integer(value)
    if requirement.operator in ("Gt", "Lt", "Gte", "Lte") and number is not None:
        bound = number + {"Gt": -1, "Lt": 1}.get(requirement.operator, 0)
        if bound >= 0 and [str(bound)] != values:
            return once(kind, subject_of(pool), words, (set_pool(pool, (*path, "values"), [str(bound)]),))
    return None


STEPS: Final = 16
"""Number of limit sizes to try, from the smallest possible to one that certainly suffices."""
_LIMITS: Final = ("spec", "limits")


def limit_trial(question: UnplacedPods, pool: NodePool, explanation: PoolExplanation) -> Iterator[Attempt]:
    """Yield the limits that new nodes of the pods would need; nothing if limits are not the only reason."""
    assert pool.limits is not None
    solution = solved(question.base, (set_pool(pool, _LIMITS, None),))
    if solution is None:
        return
    uids = {pod.uid for pod in question.pods}
    claims = [claim for claim in solution.claims if claim.nodepool_name == pool.name]
    if not any(pod.uid in uids for claim in claims for pod in claim.pods):
        return
    template = next(template for template in question.prepared.templates if template.name == explanation.nodepool)
    remaining = question.prepared.remaining_limits(template, Variant())
    least, surely = _needs(claims, remaining)
    steps: list[AttemptStep] = []
    for step in range(STEPS):
        raised: dict[str, int] = {}
        for name, left in remaining.items():
            need = least[name] + (surely[name] - least[name]) * step // (STEPS - 1)
            if need > left:
                raised[name] = _rounded_up(name, pool.limits[name].nano - left + need)
        attempt_step = _step(pool, raised)
        if raised and attempt_step not in steps[-1:]:
            steps.append(attempt_step)
    if steps:
        yield Attempt(RemedyKind.LIMIT, subject_of(pool), tuple(steps))


def limits_cut(explanation: PoolExplanation) -> bool:
    """Return whether limits rule out some of a NodePool's types, if not all."""
    left = {types.after: types.count for types in explanation.types_left}
    return left.get("limits", 0) < left.get("on offer", 0)


def _needs(claims: list[NewClaim], limited: dict[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the minimum and maximum resources of the claims, in nano-units."""
    least, most = dict.fromkeys(limited, 0), dict.fromkeys(limited, 0)
    for claim in claims:
        for name in limited:
            if name == NODES:
                least[name] += NANO
                most[name] += NANO
                continue
            capacity = claim.catalogue.types
            amounts = [
                amount.nano if (amount := capacity[i].capacity.get(name)) is not None else 0
                for i in bits(claim.type_mask)
            ]
            least[name] += min(amounts, default=0)
            most[name] += max(amounts, default=0)
    return least, most


def _rounded_up(resource: str, nano: int) -> int:
    """Return a limit rounded up: to whole cores, gibibytes or pieces."""
    unit = NANO << 30 if is_in_bytes(resource) else NANO
    return -(-nano // unit) * unit


def _step(pool: NodePool, raised: dict[str, int]) -> AttemptStep:
    edits: tuple[AnyEdit, ...] = tuple(
        set_pool(pool, (*_LIMITS, name), quantity_text(name, nano)) for name, nano in raised.items()
    )
    assert pool.limits is not None
    words = ", ".join(
        f"{name} from {pool.limits[name]} to {quantity_text(name, nano) if name == CPU else amount_words(name, nano)}"
        for name, nano in raised.items()
    )
    return AttemptStep(f"raise its limit of {words}", edits)


class _Candidate(NamedTuple):
    price: float
    name: str
    values: tuple[str, ...]
    """Values of the type for the requirement's key; for zone and capacity type, values of its cheapest offering."""


def type_trials(question: UnplacedPods, pool: NodePool) -> Iterator[Attempt]:
    """Yield for each requirement the value of the cheapest large enough type that it alone excludes.

    A type of an allowed family comes first: the next larger one.
    """
    catalogue = question.prepared.catalogues[pool.name]
    of_pods = _pod_requirements(question)
    need = _need(question, pool)
    families = _families(question, pool)
    for index, requirement in enumerate(pool.requirements):
        others = tuple(selector_requirement for i, selector_requirement in enumerate(pool.requirements) if i != index)
        requirements = template_requirements(replace(pool, requirements=others))
        if not requirements.compatible(of_pods, requirements.well_known):
            continue
        candidates = _candidates(catalogue, requirements.merge(of_pods), requirement.key, need)
        tried_values: set[tuple[str, ...]] = set()
        for candidate in (
            next((c for c in candidates if _family(c.name) in families), None),
            next(iter(candidates), None),
        ):
            if candidate is None or not candidate.values:
                continue
            trial = next(
                filter(None, (allow_value(pool, index, value, RemedyKind.INSTANCE_TYPE) for value in candidate.values)),
                None,
            )
            if trial is not None and (candidate.values[0],) not in tried_values:
                tried_values.add((candidate.values[0],))
                yield trial


def _pod_requirements(question: UnplacedPods) -> Requirements:
    """Return the pods' requirements on labels, without preferences and with their first alternative."""
    template = question.first.template
    required = Requirements.from_labels(template.node_selector)
    if template.required_node_terms:
        required = required.merge(Requirements.from_selectors(template.required_node_terms[0].match_expressions))
    return required


def _need(question: UnplacedPods, pool: NodePool) -> list[tuple[str, int]]:
    """Return the minimum resources of a type: the pod, and the DaemonSets on any type of the NodePool."""
    columns = question.prepared.columns
    row = list(columns.row(question.first.requests, pods=1))
    template = next((template for template in question.prepared.templates if template.name == pool.name), None)
    if template is not None and template.groups:
        least = [min(group.row[i] for group in template.groups) for i in range(len(row))]
        row = [a + b for a, b in zip(row, least, strict=True)]
    return [(name, amount) for name, amount in zip(columns.names, row, strict=True) if amount]


def _families(question: UnplacedPods, pool: NodePool) -> frozenset[str]:
    template = next((template for template in question.prepared.templates if template.name == pool.name), None)
    if template is None:
        return frozenset()
    return frozenset(_family(template.catalogue.types[i].name) for i in bits(template.types))


def _family(type_name: str) -> str:
    return type_name.partition(".")[0]


def _candidates(
    catalogue: Catalogue, required: Requirements, key: str, need: list[tuple[str, int]]
) -> list[_Candidate]:
    """Return the types that meet all but one requirement and have room, the cheapest first."""
    rows = catalogue.offering_rows(required) & catalogue.usable_rows & catalogue.fitting_rows(need)
    mask = catalogue.compatible(required) & catalogue.types_of_rows(rows)
    prices = catalogue.prices(required)
    candidates = [
        _Candidate(prices[i], catalogue.types[i].name, _values(catalogue, i, key, required))
        for i in bits(mask)
        if prices[i] != NO_PRICE
    ]
    return sorted(candidates, key=lambda candidate: (candidate.price, candidate.name))


def _values(catalogue: Catalogue, i: int, key: str, allowed: Requirements) -> tuple[str, ...]:
    instance_type = catalogue.types[i]
    if key in (ZONE, CAPACITY_TYPE):
        offered = sorted(
            (offering.price_per_hour, value)
            for offering in instance_type.offerings
            if offering.is_available
            and allowed.compatible(requirements := catalogue.requirements_of(offering.requirements), WELL_KNOWN)
            for value in requirements.get(key).values
        )
        return tuple(dict.fromkeys(value for _, value in offered))
    requirement = catalogue.requirements_of(instance_type.requirements).find(key)
    return () if requirement is None or requirement.complement else tuple(sorted(requirement.values))


def pool_trials(question: UnplacedPods) -> Iterator[Attempt]:
    """Yield the changes to each NodePool that its first failing gate suggests, in the order of the NodePools."""
    if question.explanation is None:
        return
    pools = {pool.name: pool for pool in question.base.inventory.nodepools}
    for explanation in question.explanation.pools:
        pool = pools[explanation.nodepool]
        if explanation.position < 0:
            yield from _without_types(question, pool)
            continue
        rejection = explanation.rejection
        if isinstance(rejection, TaintsNotTolerated):
            yield _untainted(pool, rejection.taints)
        elif isinstance(rejection, LimitReached):
            yield from limit_trial(question, pool, explanation)
        elif isinstance(rejection, RequirementsUnmet):
            yield from _labelled(question, pool, rejection)
            yield from type_trials(question, pool)
        elif isinstance(rejection, TypesExhausted):
            if limits_cut(explanation):
                yield from limit_trial(question, pool, explanation)
            offered = dict(rejection.unmet_min_values)
            for index, requirement in enumerate(pool.requirements):
                if requirement.key in offered and requirement.min_values is not None:
                    yield _min_values(pool, index, requirement, offered[requirement.key] or None)
            yield from type_trials(question, pool)


def _without_types(question: UnplacedPods, pool: NodePool) -> Iterator[Attempt]:
    """Yield changes that make a NodePool without usable types usable; nothing if there is another cause."""
    if pool.name not in question.prepared.left_out:
        return
    if question.prepared.left_out[pool.name]:
        for index, requirement in enumerate(pool.requirements):
            if requirement.min_values is not None:
                yield _min_values(pool, index, requirement, None)
    yield from type_trials(question, pool)


def _untainted(pool: NodePool, missing: tuple[Taint, ...]) -> Attempt:
    kept = [taint_document(taint) for taint in pool.taints if taint not in missing]
    words = f"drop its taint{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}, for all pods"
    edit = set_pool(pool, ("spec", "template", "spec", "taints"), kept or None)
    return once(RemedyKind.REMOVE_TAINT, subject_of(pool), words, (edit,))


def _labelled(question: UnplacedPods, pool: NodePool, rejection: RequirementsUnmet) -> Iterator[Attempt]:
    """Yield the change that gives the NodePool's nodes the required labels, if one change can."""
    selector = question.first.template.node_selector
    for reason in rejection.reasons:
        if isinstance(reason, UndefinedKey):
            if reason.key in selector and not is_restricted(reason.key):
                path = ("spec", "template", "metadata", "labels", reason.key)
                words = f"give its nodes the label {reason.key}={selector[reason.key]}"
                edit = set_pool(pool, path, selector[reason.key])
                yield once(RemedyKind.POOL_LABEL, subject_of(pool), words, (edit,))
        else:
            yield from _allowing(question, pool, reason)


def _allowing(question: UnplacedPods, pool: NodePool, reason: KeyConflict) -> Iterator[Attempt]:
    """Yield the change that lets a requirement of the NodePool allow the required value."""
    incoming = reason.incoming
    if incoming.complement or not incoming.values or (is_restricted(reason.key) and reason.key not in WELL_KNOWN):
        return
    value = min(incoming.values)
    if reason.key in pool.template_labels:
        path = ("spec", "template", "metadata", "labels", reason.key)
        before = pool.template_labels[reason.key]
        words = f"change the label {reason.key} of its nodes from {before} to {value}"
        pods = question.prepared.inventory.pods
        users = sum(pod.template.node_selector.get(reason.key) == before and pod.is_active for pod in pods)
        words += f" (but {counted(users, 'pod')} {verb(users, 'selects', 'select')} {before})" if users else ""
        yield once(RemedyKind.POOL_LABEL, subject_of(pool), words, (set_pool(pool, path, value),))
        return
    for index, requirement in enumerate(pool.requirements):
        if requirement.key == reason.key and (trial := allow_value(pool, index, value, RemedyKind.POOL_VALUE)):
            yield trial


def _min_values(pool: NodePool, index: int, requirement: NodeSelectorRequirement, value: int | None) -> Attempt:
    path = (*POOL_REQUIREMENTS, index, "minValues")
    to = f"to {value}" if value is not None else "away"
    verb = "lower" if value is not None else "take"
    words = f"{verb} minValues of {requirement.key} {to}"
    return once(RemedyKind.MIN_VALUES, subject_of(pool), words, (set_pool(pool, path, value),))
