"""A finding about a cluster in one sentence, for the Nodes screen and for `karptui verdict`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from karptui.aws.money import saved_text
from karptui.karpenter.labels import NODEPOOL
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import clock_text, counted, first_of, span_text, verb
from karptui.kube.volumes import unread_text
from karptui.views.sanitize import clean
from karptui.views.verdict import blocked, karpenter, nodes, pods, pools
from karptui.views.verdict.parts import QUOTED, Reasons, Say, dead_webhook_text, names_text, nodes_text, pods_pending

if TYPE_CHECKING:
    from karptui.changes.changes import Edit
    from karptui.pending.groups import PendingGroup
    from karptui.session.cluster_view import ClusterView
    from karptui.verdict.finding import ClusterFinding

LATE_NS: Final = 300 * NS_PER_SECOND
"""A node that Karpenter launches is there within this time."""
_LONGEST_VALUE: Final = 40
_METHODS: Final[Mapping[str, str]] = {
    "Repair": "unhealthy",
    "Emptiness": "empty",
    "Drift": "drifted",
    "StaticDrift": "drifted",
    "MultiNodeConsolidation": "consolidation",
    "SingleNodeConsolidation": "consolidation",
}


def pending_reasons(view: ClusterView) -> Reasons:
    """Return the reason why pods are pending, by the key of their group."""
    report = view.pending
    if report is None:
        return {}
    from karptui.decode.kinds import Kind  # noqa: PLC0415 - as above
    from karptui.pending.causes import FAULTY, Cause  # noqa: PLC0415 - with the engines, once they have answered
    from karptui.pending.disagreements import DECISIVE, DisagreementCode  # noqa: PLC0415 - as above
    from karptui.session.nodeclasses import assumed_of  # noqa: PLC0415 - as above
    from karptui.session.verdict import is_guess  # noqa: PLC0415 - as above
    from karptui.session.webhooks import NODECLAIMS, dead_webhook  # noqa: PLC0415 - as above
    from karptui.views.pending.disagreements import disagreement_text  # noqa: PLC0415 - as above
    from karptui.views.pending.sentences import now_words  # noqa: PLC0415 - as above

    read = "judging by the objects read, " if is_guess(view) else ""

    def reason(group: PendingGroup) -> str:
        place = group.diagnosis.destination
        reasons = group.disagreements
        if reasons and reasons[0].code in DECISIVE:
            return disagreement_text(reasons[0])
        nominated = next((reason for reason in reasons if reason.code is DisagreementCode.NOMINATED), None)
        if group.cause is Cause.CLAIM and nominated is not None and nominated.name:
            return disagreement_text(nominated)
        if group.cause is Cause.CLAIM and place is not None and report.now_ns - group.since_ns >= LATE_NS:
            why = ": no event says why, Karpenter's log may" if view.state.events else ""
            if Kind.EVENT in view.hidden:
                why = ": Karpenter's log may say why (events were not read)"
            longest_ns = round(view.evidence.settings.batch_max_seconds * NS_PER_SECOND)
            if LATE_NS < longest_ns > report.now_ns - group.since_ns:
                why = f": Karpenter first collects pods for up to {span_text(longest_ns)} (BATCH_MAX_DURATION)"
            if (dead := dead_webhook(view, *NODECLAIMS)) is not None:
                why = f": no NodeClaim is created without {dead_webhook_text(*dead)}"
            of_pool = (c for c in view.state.nodeclaims.values() if c.labels.get(NODEPOOL) == place.nodepool)
            launched = [claim.is_true("Initialized") for claim in of_pool if claim.created_ns > group.since_ns]
            none = f"none was launched{why}"
            if launched:
                be = "is" if len(launched) == 1 else "are"
                none = f"{sum(launched) or len(launched)} launched since then "
                none += "did not help" if any(launched) else f"{be} not initialized"
            return f"{read}a new node of {place.nodepool} ({place.instance_type}) fits, but {none}"
        if group.cause in FAULTY or not reasons:
            return f"{read if group.cause is Cause.UNPLACED and assumed_of(view) else ''}{now_words(group)}"
        return disagreement_text(reasons[-1] if group.cause is Cause.NODE else reasons[0])

    return {group.key: reason(group) for group in report.groups}


def sentence(finding: ClusterFinding, now_ns: int, reasons: Reasons) -> str:
    """Return a finding in one sentence."""
    text = _SENTENCES[str(finding.code)](finding, now_ns, reasons)
    return clean(text + (f"; {edit_text(finding.edit)}" if finding.edit is not None else ""))


def edit_text(edit: Edit) -> str:
    """Return ``after weight of spot 100 → 10 at 14:02Z by argocd``: a coincidence in time, no cause."""
    from karptui.views.changes import value_text  # noqa: PLC0415 - rarely needed

    first, *others = edit.fields
    field = first.path.removeprefix("spec.").removeprefix("template.spec.")
    before, after = (value_text(value)[:_LONGEST_VALUE] or "none" for value in (first.before, first.after))
    more = f" and {counted(len(others), 'more field')}" if others else ""
    by = f" by {edit.manager}" if edit.manager else ""
    at = clock_text(edit.at_ns)
    return f"after {field} of {edit.key} {before} → {after}{more} at {at[:5]}{at[-1]}{by}"


def _no_permission(finding: ClusterFinding, _: int, __: Reasons) -> str:
    kinds = first_of(finding.names, 4)
    unread = f"{kinds} were not read" if finding.manner == "missing" else f"no permission to list {kinds}"
    if finding.detail:
        return f"{unread}: they count as none, so findings that depend on them are missing or wrong"
    return f"{unread}: findings that need them are missing"


def _assumed_class(finding: ClusterFinding, _: int, __: Reasons) -> str:
    many = len(finding.names) != 1
    what = f"EC2NodeClass{'es' * many} {first_of(finding.names, 3)} {'were' if many else 'was'} not read"
    return f"{what}: karptui assumes {finding.detail} in the zones of the nodes"


def _no_prices(finding: ClusterFinding, _: int, __: Reasons) -> str:
    has, them = verb(finding.nodes, "has", "have"), verb(finding.nodes, "it", "them")
    return f"{nodes_text(finding)} {has} no known price: totals exclude {them}"


def _advice(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    fact = " ".join(finding.detail.split())
    if len(fact) > 2 * QUOTED:
        fact = f"{fact[: 2 * QUOTED].rpartition(' ')[0]} …"
    if not finding.of_nodes:
        return f"{fact.removesuffix('.')}{pods_pending(finding, now_ns)}"
    return f"Advice has {counted(finding.of_nodes, 'warning')}{verb(finding.of_nodes, '', ', the first')}: {fact}"


def _next(finding: ClusterFinding, _: int, __: Reasons) -> str:
    if finding.manner == "on-request":
        return f"next command: press {finding.key}: in a cluster of this size it is computed only while Next is open"
    if finding.manner == "expired":
        return (
            f"next: {nodes_text(finding)} {verb(finding.nodes, 'expires', 'expire')} now ({names_text(finding.names)})"
        )
    decision, method = finding.detail.split(" ", 1)
    after = "next, once unblocked" if finding.manner == "after-others" else "next"
    saves = f", {saved_text(finding.price_per_hour, digits=2)}" if finding.price_per_hour else ""
    others = f" or, as likely, {counted(finding.of_nodes, 'other')}" if finding.of_nodes else ""
    another = f", or {counted(finding.others, 'other')} with another outcome" if finding.others else ""
    return f"{after}: {decision} {names_text(finding.names)}{others} ({_METHODS.get(method, method)}{saves}){another}"


def _fine(finding: ClusterFinding, _: int, __: Reasons) -> str:
    is_empty = finding.manner == "no-nodes"
    if finding.manner == "incomplete":
        return f"nothing found that needs attention, but not everything is checked: {finding.detail}"
    if finding.manner == "with-notes":
        return "nothing needs attention now"
    if not is_empty and finding.manner != "not-karpenters":
        return "no blockers or problems in this cluster"
    if is_empty and not finding.names:
        return "no nodes, no NodeClaims and no NodePools"
    what = f"none of the {nodes_text(finding)} is managed by Karpenter"
    if is_empty:
        what = "no nodes and no NodeClaims"
    elif finding.nodes == 1:
        what = "Karpenter does not manage the only node"
    pools = counted(len(finding.names), "NodePool")
    return f"{what}: {pools}, no pod pending for long" if finding.names else f"{what}, and there is no NodePool"


_SENTENCES: Final[Mapping[str, Say]] = {
    **karpenter.SENTENCES,
    **pools.SENTENCES,
    **nodes.SENTENCES,
    **pods.SENTENCES,
    **blocked.SENTENCES,
    "NO_PERMISSION": _no_permission,
    "NO_PRICES": _no_prices,
    "ASSUMED_CLASS": _assumed_class,
    "ASSUMED_VOLUMES": lambda finding, *_: unread_text(finding.names),
    "ADVICE": _advice,
    "NEXT": _next,
    "FINE": _fine,
}
