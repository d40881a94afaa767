"""Instance types that a NodePool would launch if one of its requirements allowed one more value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from karptui.karpenter.labels import CAPACITY_TYPE, WELL_KNOWN, ZONE
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.provisioning.catalogue import Catalogue, bits
from karptui.provisioning.template import template_requirements
from karptui.provisioning.type_index import NO_PRICE
from karptui.whatif.remedies.pool_edits import allow_value
from karptui.whatif.remedies.remedy import RemedyKind
from karptui.whatif.remedies.trial import Question, Trial


class _Candidate(NamedTuple):
    price: float
    name: str
    values: tuple[str, ...]
    """What the type has for the requirement's key, of its cheapest offering for zone and capacity type."""


def type_trials(question: Question, pool: NodePool) -> Iterator[Trial]:
    """Yield for each requirement the value of the cheapest type with room that it alone rules out.

    Where one of the same family as the types that are allowed now has room, it comes first: the next larger.
    """
    catalogue = question.prepared.catalogues[pool.name]
    asked = _asked(question)
    need = _need(question, pool)
    families = _families(question, pool)
    for index, requirement in enumerate(pool.requirements):
        others = tuple(one for i, one in enumerate(pool.requirements) if i != index)
        wanted = template_requirements(replace(pool, requirements=others))
        if not wanted.compatible(asked, WELL_KNOWN):
            continue
        found = _candidates(catalogue, wanted.merge(asked), requirement.key, need)
        known: set[tuple[str, ...]] = set()
        for one in (next((c for c in found if _family(c.name) in families), None), next(iter(found), None)):
            if one is None or not one.values:
                continue
            trial = next(
                filter(None, (allow_value(pool, index, value, RemedyKind.INSTANCE_TYPE) for value in one.values)), None
            )
            if trial is not None and (one.values[0],) not in known:
                known.add((one.values[0],))
                yield trial


def _asked(question: Question) -> Requirements:
    """Return what the pods ask of labels, without preferences and by their first alternative."""
    template = question.first.template
    asked = Requirements.from_labels(template.node_selector)
    if template.required_node_terms:
        asked = asked.merge(Requirements.from_selectors(template.required_node_terms[0].match_expressions))
    return asked


def _need(question: Question, pool: NodePool) -> list[tuple[str, int]]:
    """Return what a type must have at least: the pod, and the DaemonSets that any type of the NodePool carries."""
    columns = question.prepared.columns
    row = list(columns.row(question.first.requests, pods=1))
    template = next((one for one in question.prepared.templates if one.name == pool.name), None)
    if template is not None and template.groups:
        least = [min(group.row[i] for group in template.groups) for i in range(len(row))]
        row = [a + b for a, b in zip(row, least, strict=True)]
    return [(name, amount) for name, amount in zip(columns.names, row, strict=True) if amount]


def _families(question: Question, pool: NodePool) -> frozenset[str]:
    template = next((one for one in question.prepared.templates if one.name == pool.name), None)
    if template is None:
        return frozenset()
    return frozenset(_family(template.catalogue.types[i].name) for i in bits(template.types))


def _family(type_name: str) -> str:
    return type_name.partition(".")[0]


def _candidates(catalogue: Catalogue, wanted: Requirements, key: str, need: list[tuple[str, int]]) -> list[_Candidate]:
    """Return the types that meet all but one requirement and have room, the cheapest first."""
    rows = catalogue.offering_rows(wanted) & catalogue.usable_rows & catalogue.fitting_rows(need)
    mask = catalogue.compatible(wanted) & catalogue.types_of_rows(rows)
    prices = catalogue.prices(wanted)
    found = [
        _Candidate(prices[i], catalogue.types[i].name, _values(catalogue, i, key, wanted))
        for i in bits(mask)
        if prices[i] != NO_PRICE
    ]
    return sorted(found, key=lambda one: (one.price, one.name))


def _values(catalogue: Catalogue, i: int, key: str, wanted: Requirements) -> tuple[str, ...]:
    instance_type = catalogue.types[i]
    if key in (ZONE, CAPACITY_TYPE):
        offered = sorted(
            (offering.price_per_hour, value)
            for offering in instance_type.offerings
            if offering.is_available
            and wanted.compatible(own := catalogue.requirements_of(offering.requirements), WELL_KNOWN)
            for value in own.get(key).values
        )
        return tuple(dict.fromkeys(value for _, value in offered))
    said = catalogue.requirements_of(instance_type.requirements).find(key)
    return () if said is None or said.complement else tuple(sorted(said.values))
