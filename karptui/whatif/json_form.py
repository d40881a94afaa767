"""An answer in the form of ``karptui simulate --scenario FILE -o json``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from karptui.whatif.accuracy import Accuracy
from karptui.whatif.difference import Difference
from karptui.whatif.difference_lines import ClaimLine, MoveLine, NextLines, PodPlace, PoolChange, Unplaced
from karptui.whatif.run import Answer


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain values; nothing but the problem where there is no difference."""
    if answer.difference is None or answer.accuracy is None:
        return {"error": answer.problem}
    return {
        **difference_json(answer.difference),
        "blockersGained": lines_json(answer.blockers_gained or ()),
        "blockersLost": lines_json(answer.blockers_lost or ()),
        "notes": list(answer.notes),
        **_accuracy(answer.accuracy),
    }


def difference_json(difference: Difference) -> dict[str, Any]:
    """Return a difference as plain values, with names in camel case and units in the names."""
    document: dict[str, Any] = {
        "replay": str(difference.mode),
        "before": _camel(msgspec.to_builtins(difference.before)),
        "after": _camel(msgspec.to_builtins(difference.after)),
        "priceDeltaPerHour": difference.price_delta_per_hour,
        "notCounted": _camel(msgspec.to_builtins(difference.not_counted)),
        "nodePools": [_pool(one) for one in difference.pools],
        "newNodeClaims": [_claim(one) for one in difference.claims],
        "newNodeClaimsGone": [_claim(one) for one in difference.claims_before],
        "existingNodes": [
            {"name": one.node_name, "nodePool": one.pool_name, "pods": list(one.pods), "isChanged": one.is_changed}
            for one in difference.nodes
        ],
        "moves": [_move(one) for one in difference.moves],
        "nowFit": [_move(one) for one in difference.now_fit],
        "noLongerFit": [_unplaced(one) for one in difference.no_longer_fit],
        "stillPending": [_unplaced(one) for one in difference.still_pending],
        "lostPods": list(difference.lost_pods),
        "driftGained": lines_json(difference.drift_gained),
        "driftLost": lines_json(difference.drift_lost),
        "budgets": lines_json(difference.budgets),
    }
    if difference.next_before is not None and difference.next_after is not None:
        document["nextBefore"], document["nextAfter"] = _next(difference.next_before), _next(difference.next_after)
    return document


def _accuracy(accuracy: Accuracy) -> dict[str, Any]:
    """Return how far a result can be trusted."""
    return {
        "exact": list(accuracy.exact),
        "approximated": list(accuracy.approximated),
        "notModelled": list(accuracy.not_modelled),
        "karpenterFound": accuracy.found_version or None,
        "karpenterModelled": accuracy.modelled_version,
        "karpenterEdited": accuracy.edited_version or None,
    }


def lines_json(lines: Iterable[msgspec.Struct]) -> list[dict[str, Any]]:
    """Return records as JSON has them."""
    return [_camel(msgspec.to_builtins(one)) for one in lines]


def _camel(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {_camel_name(name): value for name, value in fields.items()}


def _camel_name(name: str) -> str:
    first, *rest = name.replace("pool_name", "node_pool").replace("claim_name", "node_claim").split("_")
    return first + "".join(part.capitalize() for part in rest)


def _pool(pool: PoolChange) -> dict[str, Any]:
    return {
        "name": pool.name,
        "nodesBefore": pool.nodes_before,
        "nodesAfter": pool.nodes_after,
        "launchedBefore": pool.launched_before,
        "launchedAfter": pool.launched_after,
        "pricePerHourBefore": pool.price_before,
        "pricePerHourAfter": pool.price_after,
        "unpricedBefore": pool.unpriced_before,
        "unpricedAfter": pool.unpriced_after,
        "isNew": pool.is_new,
        "isGone": pool.is_gone,
        "podsBefore": pool.pods_before,
        "podsAfter": pool.pods_after,
    }


def _claim(claim: ClaimLine) -> dict[str, Any]:
    return {
        "nodePool": claim.pool_name,
        "pods": list(claim.pods),
        "requests": dict(claim.requests),
        "pricePerHour": claim.price_per_hour,
        "atMostPerHour": claim.at_most_per_hour,
        "isChanged": claim.is_changed,
        "instanceTypes": lines_json(claim.types),
    }


def _place(place: PodPlace | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {"kind": str(place.kind), "nodePool": place.pool_name, "node": place.node_name}


def _move(move: MoveLine) -> dict[str, Any]:
    return {
        "owner": move.owner,
        "pods": list(move.pods),
        "before": _place(move.before),
        "after": _place(move.after),
    }


def _unplaced(pod: Unplaced) -> dict[str, Any]:
    return {
        "pod": pod.pod_key,
        "owner": pod.owner,
        "reason": pod.reason,
        "gate": pod.gate,
        "karpenterSays": pod.karpenter_says,
        "before": _place(pod.was),
    }


def _next(lines: NextLines) -> dict[str, Any]:
    commands = [
        {
            "method": one.method,
            "decision": one.decision,
            "nodes": list(one.nodes),
            "replacements": [{"nodePool": pool, "instanceType": name} for pool, name in one.replacements],
            "savingsPerHour": one.savings_per_hour,
        }
        for one in lines.commands
    ]
    return {"commands": commands, "because": lines.because}
