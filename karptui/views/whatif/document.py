"""The values of a what-if's answer: ``karptui simulate --scenario FILE -o json``, and a part of ``karptui plan``."""

from __future__ import annotations

from typing import Any, Final

from karptui.karpenter.inventory import NotCounted
from karptui.views.column import Value, lifted, one_of, plain, record, records, struct_values, texts
from karptui.whatif.accuracy import Accuracy
from karptui.whatif.difference import BlockerLine, Difference
from karptui.whatif.difference_lines import (
    BudgetChange,
    ClaimLine,
    CommandLine,
    DriftLine,
    MoveLine,
    NextLines,
    NodeLine,
    PlaceKind,
    PodPlace,
    PoolChange,
    Totals,
    TypeOption,
    Unplaced,
)
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Replay

_TOTALS: Final = struct_values(
    Totals,
    {
        "unpriced": "Nodes without a known price, excluded from costs.",
        "unpricedAtMostPerHour": "Their highest price: spot nodes at the on-demand price.",
        "unbounded": "Nodes without a known price or upper bound.",
    },
)
_NOT_COUNTED: Final = struct_values(
    NotCounted,
    {
        "unmanaged": "Nodes not managed by Karpenter.",
        "leaving": "Nodes that are being removed.",
        "unlaunched": "NodeClaims without an instance.",
    },
)


_PLACE: Final[tuple[Value[PodPlace], ...]] = (
    Value("kind", lambda place, _: place.kind, one_of(*PlaceKind)),
    Value("nodePool", lambda place, _: place.pool_name, str),
    Value("node", lambda place, _: place.node_name, str),
)
_POOL: Final = tuple(
    Value(
        value.name.replace("priceB", "pricePerHourB").replace("priceA", "pricePerHourA"),
        value.read,
        value.schema,
        value.about,
    )
    for value in struct_values(
        PoolChange,
        {
            "podsBefore": "Pods of workloads on its nodes; 0 if next disruptions are replayed.",
            "unpricedBefore": "Nodes without a known price, excluded from costs.",
        },
    )
)
_CLAIM: Final[tuple[Value[ClaimLine], ...]] = (
    Value("nodePool", lambda claim, _: claim.pool_name, str),
    texts("pods", lambda claim: claim.pods),
    Value("requests", lambda claim, _: dict(claim.requests), dict[str, str]),
    Value("pricePerHour", lambda claim, _: claim.price_per_hour, float | None),
    Value(
        "atMostPerHour",
        lambda claim, _: claim.at_most_per_hour,
        float | None,
        "On-demand price, if the price of its spot offering is unknown.",
    ),
    Value("isChanged", lambda claim, _: claim.is_changed, bool, "Whether the other side has none like it."),
    records("instanceTypes", lambda claim: claim.types, struct_values(TypeOption), "The cheapest first."),
)
_NODE: Final[tuple[Value[NodeLine], ...]] = (
    Value("name", lambda node, _: node.node_name, str),
    Value("nodePool", lambda node, _: node.pool_name, str),
    texts("pods", lambda node: node.pods),
    Value("isChanged", lambda node, _: node.is_changed, bool),
)
_MOVE: Final[tuple[Value[MoveLine], ...]] = (
    Value("owner", lambda move, _: move.owner, str),
    texts("pods", lambda move: move.pods),
    record("before", lambda move: move.before, _PLACE),
    record("after", lambda move: move.after, _PLACE),
)
_UNPLACED: Final[tuple[Value[Unplaced], ...]] = (
    Value("pod", lambda pod, _: pod.pod_key, str),
    Value("owner", lambda pod, _: pod.owner, str),
    Value("reason", lambda pod, _: pod.reason, str),
    Value("gate", lambda pod, _: pod.gate, str),
    Value("karpenterSays", lambda pod, _: pod.karpenter_says, str),
    record("before", lambda pod: pod.was, _PLACE, may_be_null=True),
)
_COMMAND: Final[tuple[Value[CommandLine], ...]] = (
    Value("method", lambda command, _: command.method, str),
    Value("decision", lambda command, _: command.decision, str),
    texts("nodes", lambda command: command.nodes),
    records(
        "replacements",
        lambda command: command.replacements,
        (Value("nodePool", lambda pair, _: pair[0], str), Value("instanceType", lambda pair, _: pair[1], str)),
    ),
    Value("savingsPerHour", lambda command, _: command.savings_per_hour, float | None, "Null if unknown."),
)
_NEXT: Final[tuple[Value[NextLines], ...]] = (
    records("commands", lambda lines: lines.commands, _COMMAND),
    Value("because", lambda lines, _: lines.because, str),
)
_DRIFT: Final = struct_values(DriftLine)
BLOCKER: Final = struct_values(
    BlockerLine, {"nodeName": "Empty if it blocks the whole cluster.", "pricePerHour": "Price of the node."}
)
DIFFERENCE: Final[tuple[Value[Difference], ...]] = (
    Value("replay", lambda difference, _: difference.mode, one_of(*Replay)),
    record("before", lambda difference: difference.before, _TOTALS),
    record("after", lambda difference: difference.after, _TOTALS),
    Value("priceDeltaPerHour", lambda difference, _: difference.price_delta_per_hour, float),
    record("notCounted", lambda diff: diff.not_counted, _NOT_COUNTED, "Nodes that before and after leave out."),
    records("nodePools", lambda difference: difference.pools, _POOL),
    records("newNodeClaims", lambda difference: difference.claims, _CLAIM),
    records("newNodeClaimsGone", lambda difference: difference.claims_before, _CLAIM),
    records("existingNodes", lambda difference: difference.nodes, _NODE),
    records("moves", lambda difference: difference.moves, _MOVE),
    records("nowFit", lambda difference: difference.now_fit, _MOVE),
    records("noLongerFit", lambda difference: difference.no_longer_fit, _UNPLACED),
    records("stillPending", lambda difference: difference.still_pending, _UNPLACED),
    texts("lostPods", lambda diff: diff.lost_pods, "namespace/name of pods on removed nodes that nothing recreates."),
    records("driftGained", lambda difference: difference.drift_gained, _DRIFT),
    records("driftLost", lambda difference: difference.drift_lost, _DRIFT),
    records("budgets", lambda difference: difference.budgets, struct_values(BudgetChange)),
    record("nextBefore", lambda difference: difference.next_before, _NEXT, is_optional=True),
    record("nextAfter", lambda difference: difference.next_after, _NEXT, is_optional=True),
)
_ACCURACY: Final[tuple[Value[Accuracy], ...]] = (
    texts("exact", lambda accuracy: accuracy.exact),
    texts("approximated", lambda accuracy: accuracy.approximated),
    texts("notModelled", lambda accuracy: accuracy.not_modelled),
    Value("karpenterFound", lambda accuracy, _: accuracy.found_version or None, str | None),
    Value("karpenterModelled", lambda accuracy, _: accuracy.modelled_version, str),
    Value("karpenterEdited", lambda accuracy, _: accuracy.edited_version or None, str | None),
)


ANSWER: Final[tuple[Value[Answer], ...]] = (
    *lifted(DIFFERENCE, lambda answer: answer.difference),
    records("blockersGained", lambda answer: answer.blockers_gained or (), BLOCKER),
    records("blockersLost", lambda answer: answer.blockers_lost or (), BLOCKER),
    texts("notes", lambda answer: answer.notes),
    *lifted(_ACCURACY, lambda answer: answer.accuracy),
)


def answer_values(answer: Answer) -> dict[str, Any]:
    """Return an answer as JSON holds it; nothing but the problem if there is no difference."""
    if answer.difference is None or answer.accuracy is None:
        return {"error": answer.problem}
    return plain(ANSWER, answer)
