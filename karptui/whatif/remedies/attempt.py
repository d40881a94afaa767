"""One change, tried: the engine runs on the cluster as the change makes it."""

from __future__ import annotations

from collections.abc import Container, Iterable

from karptui.aws.prices import LIST_PRICES, PriceSettings, settings_of
from karptui.kube.pod import Pod
from karptui.provisioning import NewClaim, Reporter, Solution
from karptui.provisioning.reporter import silent
from karptui.provisioning.solution import solve
from karptui.whatif.apply import apply
from karptui.whatif.edits import AnyEdit
from karptui.whatif.errors import EditError
from karptui.whatif.remedies.remedy import Gain
from karptui.whatif.situation import WhatIfBase


def attempt(
    base: WhatIfBase,
    edits: tuple[AnyEdit, ...],
    pods: Iterable[Pod],
    failing: Container[str],
    reporter: Reporter = silent,
) -> Gain | None:
    """Return what pods get where edits are made, None where none of them finds a place or an edit cannot be made.

    Args:
        base: The cluster.
        edits: A change.
        pods: The pods that are asked about.
        failing: ``namespace/name`` of every pod that finds no place as things are.
        reporter: Told of progress; may raise `Cancelled`.
    """
    solution = solved(base, edits, reporter)
    settings = settings_of(base.prices)
    return None if solution is None else gain_of(solution, {pod.uid for pod in pods}, failing, settings)


def solved(base: WhatIfBase, edits: tuple[AnyEdit, ...], reporter: Reporter = silent) -> Solution | None:
    """Return a run of the engine on the cluster as edits make it, None where an edit cannot be made."""
    try:
        edited = apply(base, edits)
    except EditError:
        return None
    return solve(edited.prepared, reporter=reporter)


def gain_of(
    solution: Solution, uids: set[str], failing: Container[str], settings: PriceSettings = LIST_PRICES
) -> Gain | None:
    """Return what a run has for pods, None where it is nothing."""
    nodes = [(filled.state.name, sum(pod.uid in uids for pod in filled.pods)) for filled in solution.nodes]
    nodes = [one for one in nodes if one[1]]
    claims = [claim for claim in solution.claims if any(pod.uid in uids for pod in claim.pods)]
    placed = sum(count for _, count in nodes) + sum(pod.uid in uids for claim in claims for pod in claim.pods)
    if not placed:
        return None
    prices = [settings.paid(claim.cheapest_price_per_hour) for claim in claims]
    known = [price for price in prices if price is not None]
    first = cheapest_type(claims[0]) if claims else ""
    return Gain(
        placed=placed,
        asked=len(uids),
        nodes=tuple(name for name, _ in nodes),
        nodepools=tuple(dict.fromkeys(claim.nodepool_name for claim in claims)),
        new_nodes=len(claims),
        instance_type=first,
        other_types=max(claims[0].type_mask.bit_count() - 1, 0) if claims else 0,
        price_per_hour=sum(known) if known and len(known) == len(prices) else None,
        displaced=tuple(sorted(key for key in solution.errors if key not in failing)),
    )


def cheapest_type(claim: NewClaim) -> str:
    """Return the type with the cheapest offering that a claim allows; of equals the first by name."""
    catalogue = claim.catalogue
    prices = catalogue.prices(claim.requirements)
    chosen = min(
        (i for i in range(len(catalogue.types)) if claim.type_mask >> i & 1),
        key=lambda i: (prices[i], catalogue.types[i].name),
        default=None,
    )
    return "" if chosen is None else catalogue.types[chosen].name
