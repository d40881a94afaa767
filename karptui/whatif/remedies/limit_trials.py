"""How far the limits of a NodePool would have to be raised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.karpenter.nodepool import NodePool
from karptui.kube.quantity import NANO
from karptui.kube.resources import CPU, NODES
from karptui.kube.units import is_in_bytes
from karptui.provisioning import NewClaim, PoolExplanation
from karptui.provisioning.catalogue import bits
from karptui.provisioning.problem import Variant
from karptui.whatif.edits import AnyEdit
from karptui.whatif.remedies.amount import amount_words, quantity_text
from karptui.whatif.remedies.attempt import solved
from karptui.whatif.remedies.pool_edits import set_pool, subject_of
from karptui.whatif.remedies.remedy import RemedyKind
from karptui.whatif.remedies.trial import Question, Step, Trial

STEPS: Final = 16
"""Sizes of a limit that are looked at, from the least that could do to the least that surely does."""
_LIMITS: Final = ("spec", "limits")


def limit_trial(question: Question, pool: NodePool, one: PoolExplanation) -> Iterator[Trial]:
    """Yield the limits that new nodes of the pods would need, nothing where limits alone do not keep them away."""
    assert pool.limits is not None
    solution = solved(question.base, (set_pool(pool, _LIMITS, None),))
    if solution is None:
        return
    wanted = {pod.uid for pod in question.pods}
    claims = [claim for claim in solution.claims if claim.nodepool_name == pool.name]
    if not any(pod.uid in wanted for claim in claims for pod in claim.pods):
        return
    template = next(found for found in question.prepared.templates if found.name == one.nodepool)
    remaining = question.prepared.remaining_limits(template, Variant())
    least, surely = _needs(claims, remaining)
    steps: list[Step] = []
    for step in range(STEPS):
        raised: dict[str, int] = {}
        for name, left in remaining.items():
            need = least[name] + (surely[name] - least[name]) * step // (STEPS - 1)
            if need > left:
                raised[name] = _whole(name, pool.limits[name].nano - left + need)
        made = _step(pool, raised)
        if raised and made not in steps[-1:]:
            steps.append(made)
    if steps:
        yield Trial(RemedyKind.LIMIT, subject_of(pool), tuple(steps))


def limits_cut(one: PoolExplanation) -> bool:
    """Whether limits rule out some of a NodePool's types, if not all."""
    left = {found.after: found.count for found in one.types_left}
    return left.get("limits", 0) < left.get("on offer", 0)


def _needs(claims: list[NewClaim], limited: dict[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return by resource what the claims take at least, and at most, in nano-units."""
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


def _whole(resource: str, nano: int) -> int:
    """Return a limit rounded up: to whole cores, gibibytes or pieces."""
    unit = NANO << 30 if is_in_bytes(resource) else NANO
    return -(-nano // unit) * unit


def _step(pool: NodePool, raised: dict[str, int]) -> Step:
    edits: tuple[AnyEdit, ...] = tuple(
        set_pool(pool, (*_LIMITS, name), quantity_text(name, nano)) for name, nano in raised.items()
    )
    assert pool.limits is not None
    words = ", ".join(
        f"{name} from {pool.limits[name]} to {quantity_text(name, nano) if name == CPU else amount_words(name, nano)}"
        for name, nano in raised.items()
    )
    return Step(f"raise its limit of {words}", edits)
