"""Consolidation policies, or values of one field, compared by forecasts: savings and evictions of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from karptui.errors import RequestError, no_such
from karptui.forward.result import Played, StepKind
from karptui.forward.run import HORIZON_NS
from karptui.karpenter.nodepool import BALANCED, WHEN_EMPTY, WHEN_EMPTY_OR_UNDERUTILIZED, NodePool
from karptui.kube.durations import DurationError, parse_duration, short_duration
from karptui.kube.timestamps import HOUR_NS, NS_PER_SECOND
from karptui.provisioning.reporter import Each, Reporter, one_by_one, silent
from karptui.studies.forecasts import forecast_of, leave_out_alike, spent
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.situation import WhatIfBase
from karptui.whatif.sweep import Sweep

POLICIES: Final = (WHEN_EMPTY, WHEN_EMPTY_OR_UNDERUTILIZED, BALANCED)
NEVER: Final = "Never"
AFTERS: Final = ("0s", "5m", "1h")
"""Values of consolidateAfter that are tried in addition to those in use."""
_MOST_OWN: Final = 3
ALL_COUNT: Final = "evictions and costs include drift, expiration and repair"
_PATH: Final = ("spec", "disruption")


def afters_of(text: str) -> tuple[str, ...]:
    """Return a list of values of consolidateAfter.

    Raises:
        RequestError: A value is invalid, or there is none.
    """
    afters = tuple(text.replace(",", " ").split())
    for after in afters:
        try:
            is_well = after == NEVER or parse_duration(after) >= 0
        except DurationError:
            is_well = False
        if not is_well:
            raise RequestError(f"{after!r:.60} is not a duration such as 30s or 1h, and not Never")
    if not afters:
        raise RequestError("names no value of consolidateAfter")
    return afters


class Worth(StrEnum):
    """Comparison of a policy with the present settings and the other policies."""

    YES = "yes"
    SAME = "same"
    """Same result as without a change."""
    NO = "no"
    """Another policy is better, or this one saves nothing."""
    UNKNOWN = "n/a"


class PolicySpread(msgspec.Struct, frozen=True, kw_only=True):
    """Lowest and highest result over several seeds."""

    seeds: int
    saved: tuple[float, float] | None
    """None if unknown."""
    evictions: tuple[int, int]


class PolicyOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one policy and consolidateAfter."""

    policy: str
    """Or another value that is tried; empty without a change."""
    after: str
    """``consolidateAfter``; empty without a change, and for other values."""
    edits: tuple[AnyEdit, ...]
    nodes: int
    """At the end."""
    price_per_hour: float
    """At the end."""
    dollars: float
    """Over the whole span."""
    dollars_unchanged: float
    """Over the whole span if nothing happened at all."""
    unpriced: int = 0
    """Nodes at the end without a known price, left out of prices."""
    unmanaged: int = 0
    """Nodes at the end that Karpenter does not manage, left out of prices."""
    is_saving_known: bool = True
    """Whether the savings are known: not if nodes without a price are launched or removed."""
    commands: int
    evictions: int
    """Pods evicted by commands and by expiry."""
    pending: int
    """Pods without a node at the end."""
    seconds: int
    """Until the last command."""
    kept: tuple[tuple[str, int], ...]
    """Labels of what blocks nodes at the end, with their number."""
    spread: PolicySpread | None = None
    """Range over several seeds; the figures above are from the first seed."""
    is_beaten: bool = False
    """Whether another one costs no more and evicts no more, with every seed, and is better in one of them."""
    worth: Worth = Worth.YES

    @property
    def saved(self) -> float | None:
        """Savings against the cluster if nothing happened; None if unknown."""
        return self.dollars_unchanged - self.dollars if self.is_saving_known else None

    @property
    def is_as_it_is(self) -> bool:
        """Whether nothing is tried."""
        return not self.policy

    @property
    def worst(self) -> tuple[float, int]:
        """Lowest savings, negated, and most evictions, of all seeds: the lower the better."""
        if self.spread is not None and self.spread.saved is not None:
            return -round(self.spread.saved[0], 2), self.spread.evictions[1]
        return -round(self.saved or 0.0, 2), self.evictions


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Results of all policies."""

    pools: tuple[tuple[str, str, str], ...]
    """Edited NodePools, each with its current policy and consolidateAfter."""
    horizon_ns: int
    outcomes: tuple[PolicyOutcome, ...]
    """The cluster without a change first, then in the order asked."""
    assumed: tuple[str, ...]
    not_modelled: tuple[str, ...]

    @property
    def recommended(self) -> PolicyOutcome | None:
        """The greatest savings without more evictions or pending pods than now; None if the savings are unknown."""
        today = self.outcomes[0]
        if not today.is_saving_known:
            return None
        outcomes = [
            outcome
            for outcome in self.outcomes
            if outcome.is_saving_known and outcome.worst[1] <= today.worst[1] and outcome.pending <= today.pending
        ]
        return min(outcomes, key=lambda outcome: outcome.worst)


def compare(
    base: WhatIfBase,
    *,
    edits: Sequence[AnyEdit] = (),
    pools: Iterable[str] = (),
    policies: Sequence[str] = POLICIES,
    afters: Sequence[str] = (),
    horizon_ns: int = HORIZON_NS,
    seed: int = 0,
    seeds: int = 1,
    reporter: Reporter = silent,
    each: Each = one_by_one,
) -> Comparison:
    """Forecast the cluster without a change and with every policy and consolidateAfter.

    Args:
        edits: Made before each.
        pools: NodePools that are edited; without any, all that are not static.
        afters: Values of consolidateAfter to try; without any, a few values and those in use.
        seed: First seed of what kube-scheduler leaves to chance.

    Raises:
        RequestError: A NodePool does not exist or is not consolidated.
        EditError: An edit is invalid.
    """
    chosen = _chosen_pools(base, tuple(pools))
    variants = [
        Variant(policy, after, (*edits, *(edit for pool in chosen for edit in _edits(pool, policy, after))))
        for policy in policies
        for after in afters or tried_afters(chosen)
    ]
    comparison = compare_variants(
        base,
        (Variant(edits=tuple(edits)), *variants),
        horizon_ns=horizon_ns,
        seed=seed,
        seeds=seeds,
        reporter=reporter,
        each=each,
    )
    pool_settings = tuple((pool.name, pool.consolidation_policy, _after_text(pool)) for pool in chosen)
    return msgspec.structs.replace(comparison, pools=pool_settings)


def compare_variants(
    base: WhatIfBase,
    variants: Sequence[Variant],
    *,
    horizon_ns: int = HORIZON_NS,
    seed: int = 0,
    seeds: int = 1,
    reporter: Reporter = silent,
    each: Each = one_by_one,
) -> Comparison:
    """Forecast the cluster with each variant, the first being the one without a change; arguments as in `compare`."""
    parts = [(variant, seed + number) for variant in variants for number in range(seeds)]
    every: list[_PlayOutcome] = []

    def report(done: int, total: int) -> None:  # noqa: ARG001 - plays are counted, not their seconds
        reporter(len(every), len(parts))

    for play in each(_play, (base, horizon_ns), parts, report):
        every.append(play)
        reporter(len(every), len(parts))
    by_seed = [[outcome.outcome for outcome in every[at : at + seeds]] for at in range(0, len(every), seeds)]
    policy_outcomes = [with_spread(outcomes) for outcomes in by_seed]
    beaten = [any(beats(other, outcomes) for other in by_seed) for outcomes in by_seed]
    marked = tuple(
        msgspec.structs.replace(outcome, is_beaten=is_so, worth=worth_of(outcomes, by_seed[0], is_beaten=is_so))
        for outcome, outcomes, is_so in zip(policy_outcomes, by_seed, beaten, strict=True)
    )
    return Comparison(
        pools=(),
        horizon_ns=horizon_ns,
        outcomes=marked,
        assumed=(ALL_COUNT, *every[0].assumed),
        not_modelled=every[0].not_modelled,
    )


def compare_values(
    base: WhatIfBase, *, sweep: Sweep, horizon_ns: int, seeds: int, reporter: Reporter = silent
) -> Comparison:
    """Forecast the cluster without a change and with each value of a parameter."""
    variants = (Variant(edits=sweep.edits), *(Variant(value, "", sweep.edits_for(value)) for value in sweep.values))
    return compare_variants(base, variants, horizon_ns=horizon_ns, seeds=seeds, reporter=reporter)


class Variant(msgspec.Struct, frozen=True):
    """A policy to try."""

    policy: str = ""
    """Or another value; empty without a change."""
    after: str = ""
    edits: tuple[AnyEdit, ...] = ()


class _PlayOutcome(msgspec.Struct, frozen=True):
    outcome: PolicyOutcome
    assumed: tuple[str, ...]
    not_modelled: tuple[str, ...]


def _play(common: Any, part: Any, reporter: Reporter) -> _PlayOutcome:
    base, horizon_ns = common
    variant, seed = part
    edited = apply(base, variant.edits) if variant.edits else None
    played = forecast_of(base, edited).play(horizon_ns=horizon_ns, seed=seed, reporter=reporter)
    outcome = _outcome(variant.policy, variant.after, variant.edits, played, horizon_ns)
    return _PlayOutcome(outcome, played.assumptions, played.not_modelled)


def with_spread(outcomes: Sequence[PolicyOutcome]) -> PolicyOutcome:
    """Return the first of several seeds' results, with the range of all."""
    first = outcomes[0]
    if len(outcomes) == 1:
        return first
    is_known = all(outcome.is_saving_known for outcome in outcomes)
    saved = [outcome.dollars_unchanged - outcome.dollars for outcome in outcomes]
    evictions = [outcome.evictions for outcome in outcomes]
    spread = PolicySpread(
        seeds=len(outcomes),
        saved=(min(saved), max(saved)) if is_known else None,
        evictions=(min(evictions), max(evictions)),
    )
    return msgspec.structs.replace(first, spread=spread, is_saving_known=is_known)


def tried_afters(pools: Iterable[NodePool]) -> tuple[str, ...]:
    """Return the default values of consolidateAfter: a few, and the most frequent in use."""
    used = Counter(_after_text(pool) for pool in pools)
    others = sorted(used.keys() - set(AFTERS), key=lambda duration: (-used[duration], duration))[:_MOST_OWN]
    return tuple(
        sorted({*AFTERS, *others}, key=lambda duration: float("inf") if duration == NEVER else parse_duration(duration))
    )


def _chosen_pools(base: WhatIfBase, names: tuple[str, ...]) -> list[NodePool]:
    pools = {pool.name: pool for pool in base.inventory.nodepools}
    for name in names:
        if name not in pools:
            raise no_such("NodePool", name, sorted(pools))
        if pools[name].is_static:
            raise RequestError(f"NodePool {name} is static: Karpenter does not consolidate it")
    chosen = [pool for name, pool in pools.items() if (name in names if names else not pool.is_static)]
    if not chosen:
        raise RequestError("there is no NodePool that Karpenter consolidates")
    return chosen


def _edits(pool: NodePool, policy: str, after: str) -> tuple[AnyEdit, ...]:
    ref = ObjectRef("NodePool", pool.name)
    return (
        SetField(ref, (*_PATH, "consolidationPolicy"), policy),
        SetField(ref, (*_PATH, "consolidateAfter"), after),
    )


def _after_text(pool: NodePool) -> str:
    after_ns = pool.consolidate_after_ns
    return NEVER if after_ns is None else short_duration(after_ns)


def _outcome(policy: str, after: str, edits: tuple[AnyEdit, ...], played: Played, horizon_ns: int) -> PolicyOutcome:
    end_ns = played.from_ns + horizon_ns
    commands = [step for step in played.steps if step.kind is StepKind.DISRUPT]
    return PolicyOutcome(
        policy=policy,
        after=after,
        edits=edits,
        nodes=played.end.nodes,
        price_per_hour=played.end.price_per_hour,
        dollars=spent(played, end_ns),
        dollars_unchanged=played.series[0].price_per_hour * horizon_ns / HOUR_NS,
        unpriced=played.end.unpriced,
        unmanaged=played.unmanaged,
        is_saving_known=leave_out_alike(played),
        commands=len(commands),
        evictions=played.evictions,
        pending=played.end.pending,
        seconds=(commands[-1].at_ns - played.from_ns) // NS_PER_SECOND if commands else 0,
        kept=played.kept_by,
    )


def beats(outcomes: Sequence[PolicyOutcome], other: Sequence[PolicyOutcome]) -> bool:
    """Return whether one policy is never worse in cost, evictions and pending pods with any seed, and better in some.

    False if a cost is unknown.
    """
    if not all(each.is_saving_known for each in (*outcomes, *other)):
        return False
    pairs = [(_figures(mine), _figures(its)) for mine, its in zip(outcomes, other, strict=True)]
    never_worse = all(a <= b for mine, its in pairs for a, b in zip(mine, its, strict=True))
    return never_worse and any(mine != its for mine, its in pairs)


def worth_of(outcomes: Sequence[PolicyOutcome], today: Sequence[PolicyOutcome], *, is_beaten: bool) -> Worth:
    """Return whether a policy is worth it."""
    if not all(each.is_saving_known for each in (*outcomes, *today)):
        return Worth.UNKNOWN
    is_today = outcomes[0].is_as_it_is
    if not is_today and [*map(_figures, outcomes)] == [*map(_figures, today)]:
        return Worth.SAME
    saved, before = (sum(each.dollars_unchanged - each.dollars for each in of) for of in (outcomes, today))
    is_no_gain = round(saved, 2) <= 0 and round(saved, 2) < round(before, 2)
    return Worth.NO if is_beaten or is_no_gain else Worth.YES


def _figures(outcome: PolicyOutcome) -> tuple[float, int, int]:
    return round(outcome.dollars, 2), outcome.evictions, outcome.pending
