"""The instance families to allow so that a NodePool's pods run cheapest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.aws.labels import CATEGORY, FAMILY, GENERATION
from karptui.aws.money import LEAST_CHANGE
from karptui.karpenter.labels import INSTANCE_TYPE
from karptui.karpenter.nodepool import NodePool
from karptui.kube.units import counted, first_of, verb
from karptui.provisioning.catalogue import bits
from karptui.provisioning.template import template_requirements
from karptui.provisioning.type_index import NO_PRICE
from karptui.solve.answer import FEWER_LOSE, Criterion, Effort, Figures, Solved, Tried, cheaper
from karptui.solve.question import GoalQuestion
from karptui.solve.search import Chosen
from karptui.whatif.edits import AnyEdit
from karptui.whatif.field_path import POOL_REQUIREMENTS
from karptui.whatif.remedies.pending.pools import allow_value, set_pool
from karptui.whatif.remedies.pending.remedy import RemedyKind
from karptui.whatif.scenario import Replay

_KEYS: Final = (FAMILY, INSTANCE_TYPE, CATEGORY, GENERATION)
"""Labels that can select families in a NodePool."""
_FEW: Final = 3


class _Family(msgspec.Struct, frozen=True):
    """A family, or all families of a category or generation, that could be allowed."""

    words: str
    edits: tuple[AnyEdit, ...]
    price_per_hour: float
    """Dollars of its cheapest type."""


def find(question: GoalQuestion) -> Solved:
    """Return the answer to the goal."""
    most, largest = question.count("tries"), question.count("most")
    pool = question.pool("nodepool")
    mode = Replay(question.text("replay"))
    question.asked = f"of the instance families tried, those to add that make NodePool {pool.name} cheapest"
    now = question.now(mode)
    families = sorted(_families(question, pool), key=lambda family: (family.price_per_hour, family.words))
    criteria = _criteria(has_prices=question.has_prices)

    def attempt(chosen: Chosen, edits: tuple[AnyEdit, ...], figures: Figures) -> Tried:
        return Tried(
            parts=tuple(f"NodePool {pool.name}: allow {families[index].words}" for index in chosen),
            outcome=_outcome(figures, now),
            edits=edits,
            figures=figures,
            is_enough=not figures.lost and figures.price_per_hour < now.price_per_hour - LEAST_CHANGE,
        )

    tried, sets = question.search([family.edits for family in families], largest, mode, criteria, attempt)
    cut = len(families) - most
    effort = Effort(
        tried=sets.tried,
        all=sets.all,
        how=f"{_counted(len(families))} that one requirement alone excludes: each alone, then the best with one"
        f" more, up to {min(largest, max(len(families), 1))}",
        not_tried=(f"{_counted(cut)} whose cheapest type costs more",) if cut > 0 else (),
    )
    solved = question.answer(mode, now, tried, criteria, effort)
    if solved.is_reached:
        return solved
    if families:
        because = f"none of {_counted(len(families))} makes it cheaper"
    else:
        because = f"no requirement of {pool.name} alone keeps a family out that it could launch"
    return replace(solved, because=because, best=None, runner_up=None, others=())


def _outcome(figures: Figures, now: Figures) -> str:
    if count := len(figures.lost):
        return f"{counted(count, 'pod')} unschedulable that {verb(count, 'fits', 'fit')} today"
    if figures.nodes != now.nodes:
        return f"{counted(figures.nodes, 'node')} instead of {now.nodes:,}"
    return f"{counted(figures.nodes, 'node')} as now"


def _counted(count: int) -> str:
    return counted(count, "family", "families")


def _families(question: GoalQuestion, pool: NodePool) -> Iterator[_Family]:
    """Yield the families excluded by each requirement on families, types, categories or generations."""
    catalogue = question.base.prepared.catalogues[pool.name]
    template = next((template for template in question.base.prepared.templates if template.name == pool.name), None)
    allowed = template.types if template is not None else 0
    for index, requirement in enumerate(pool.requirements):
        if requirement.key not in _KEYS:
            continue
        others = tuple(selector_requirement for at, selector_requirement in enumerate(pool.requirements) if at != index)
        requirements = template_requirements(replace(pool, requirements=others))
        rows = catalogue.offering_rows(requirements) & catalogue.usable_rows
        prices = catalogue.prices(requirements)
        by = FAMILY if requirement.key == INSTANCE_TYPE else requirement.key
        indexes: dict[str, list[int]] = {}
        for i in bits(catalogue.compatible(requirements) & catalogue.types_of_rows(rows) & ~allowed):
            of_type = catalogue.requirements_of(catalogue.types[i].requirements).find(by)
            if prices[i] != NO_PRICE and of_type is not None and not of_type.complement:
                for value in of_type.values:
                    indexes.setdefault(value, []).append(i)
        for value, types in indexes.items():
            names = sorted(catalogue.types[i].name for i in types)
            if edits := _allowing(pool, index, value, names):
                yield _Family(_words(requirement.key, value, names), edits, min(prices[i] for i in types))


def _allowing(pool: NodePool, index: int, value: str, names: Sequence[str]) -> tuple[AnyEdit, ...]:
    requirement = pool.requirements[index]
    if requirement.key != INSTANCE_TYPE:
        attempt = allow_value(pool, index, value, RemedyKind.INSTANCE_TYPE)
        return attempt.steps[0].edits if attempt is not None else ()
    path = (*POOL_REQUIREMENTS, index)
    values = list(requirement.values)
    if requirement.operator == "In":
        return (set_pool(pool, (*path, "values"), [*values, *names]),)
    if requirement.operator == "NotIn":
        left = [value for value in values if value not in names]
        return (set_pool(pool, (*path, "values"), left) if left else set_pool(pool, path, None),)
    return ()


def _words(key: str, value: str, names: Sequence[str]) -> str:
    if key in (FAMILY, INSTANCE_TYPE):
        return value
    families = sorted({name.partition(".")[0] for name in names})
    return f"{key.rpartition('-')[2]} {value} ({first_of(families, _FEW)})"


def _criteria(*, has_prices: bool) -> tuple[Criterion, ...]:
    fewest = Criterion(
        lambda attempt: len(attempt.parts), lambda ours, theirs: f"the same with {_counted(int(theirs - ours))} more"
    )
    return FEWER_LOSE, cheaper(has_prices=has_prices), fewest
