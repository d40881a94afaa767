"""`karptui explain node`: gates, blockers, the places of its pods, and the ledger of its resources."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from karptui.cli.explain_findings import findings_about
from karptui.cli.loading import Loaded, with_notes
from karptui.cli.options import MOST_SIMULATED
from karptui.cli.source import local_history
from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.disruption.churn.report import churn_of
from karptui.disruption.json_form import blocker_json
from karptui.disruption.outlook import Outcome
from karptui.errors import RequestError, no_such
from karptui.kube.objects import Event
from karptui.session.churn import ReplacedClaim, replacements, unknown_because
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry
from karptui.session.pods import PodEntry
from karptui.session.prepare import prepare_view
from karptui.session.readiness import unready_because
from karptui.session.removed_node import RemovedNode, removed_node
from karptui.session.verdict_nodes import kept_apart
from karptui.sources.history.store import History, is_history
from karptui.state.cluster import inventory_of
from karptui.views.churn.replacements import TABLE as REPLACEMENTS
from karptui.views.churn.sentences import replacement_sentences
from karptui.views.nodes.columns import nodes_table
from karptui.views.nodes.detail import claim_lines, node_lines, resource_lines, title_parts
from karptui.views.pods import pods_of_node_table
from karptui.views.removed_node import event_line, event_values, removed_lines, removed_values
from karptui.views.row import Cell, Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, as_text, build_rows
from karptui.views.verdict.blocked import APART
from karptui.views.why.detail import landing_cell, why_lines, with_landings

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeDetail

_KINDS = ("Node", "NodeClaim")
_SHOWN = ("name", "namespace", "cpu", "mem", "owner", "protection", "age", "lands_on")


def explain_node(args: argparse.Namespace, loaded: Loaded) -> tuple[list[dict[str, Any]], Iterable[Pieces], Loaded]:
    """Return a node, or a NodeClaim without one, as values and as lines; of a removed one the churn.

    Raises:
        UsageError: There is no such node, and no churn of one.
    """
    if _entry_of(loaded.view, args.name) is None:
        if (removed := _removed(args, loaded)) is not None:
            return [removed_values(removed, loaded.now_ns)], removed_lines(removed, loaded.now_ns), loaded
        if (gone := _removed_claim(loaded, args.name)) is not None:
            events = _events_of(loaded.view, gone)
            found = REPLACEMENTS.values(gone, loaded.now_ns)
            values = {"gone": True, **found, "events": [*map(event_values, events)]}
            return [values], _gone_lines(gone, events, loaded.now_ns), loaded
    entry = _find(loaded.view, args.name)
    if reason := unready_because(loaded.view):
        loaded = replace(loaded, notes=(*loaded.notes, f"why the node is still here is left out: {reason}"))
        return _explained(entry, None, loaded)
    prepared, notes = prepare_view(loaded.view, loaded.now_ns)
    steps = AnalysisSteps(prepared, loaded.view.state.generation, prices=loaded.view.evidence.price_settings)
    for _ in steps.survey():
        pass
    key = entry.key
    steps.compute_detail(key)
    if steps.is_open(key):
        steps.simulate(key)
        steps.confirm_alone(key)
    if len(loaded.view.state.nodes) <= MOST_SIMULATED:
        # Whether the node goes together with others is known once Karpenter's next command is.
        steps.simulate_next_pass()
    view = loaded.view.with_answers(analysis=steps.analysis)
    loaded = with_notes(replace(loaded, view=view), notes)
    return _explained(_find(view, args.name), steps.analysis.detail, loaded)


def _find(view: ClusterView, name: str) -> NodeEntry:
    node_entry = _entry_of(view, name)
    if node_entry is None:
        raise no_such("node", name, [entry.name for entry in view.node_entries])
    return node_entry


def _entry_of(view: ClusterView, name: str) -> NodeEntry | None:
    short = [entry for entry in view.node_entries if entry.name.partition(".")[0] == name]
    node_entry = view.node_of(name) or next((row for row in view.node_entries if name in (row.name, _claim(row))), None)
    if node_entry is None and len(short) == 1:
        return short[0]
    return node_entry


def _removed(args: argparse.Namespace, loaded: Loaded) -> RemovedNode | None:
    """Return the removal of a node from the history that the flags name, or the local one of the cluster."""
    path = Path(args.snapshot[0]) if args.snapshot else None
    if path is None:
        with suppress(RequestError):
            path = local_history(args)
    if path is None or not is_history(path):
        return None
    with closing(History(path)) as history:
        return removed_node(history, args.name, loaded.now_ns, loaded.view.prices)


def _removed_claim(loaded: Loaded, name: str) -> ReplacedClaim | None:
    """Return a NodeClaim that was removed, by its name or its node's; the latest of several."""
    if unknown_because(loaded.view.statuses):
        return None
    state = loaded.view.state
    removed = replacements(churn_of(inventory_of(state), loaded.now_ns, state.history))
    return next(
        (
            claim
            for claim in sorted(removed, key=lambda claim: claim.life.removed_ns, reverse=True)
            if name in (claim.life.claim, claim.life.node, claim.life.node.partition(".")[0])
        ),
        None,
    )


def _events_of(view: ClusterView, gone: ReplacedClaim) -> list[Event]:
    names = {gone.life.claim, gone.life.node} - {""}
    events = (*view.state.history.events, *view.state.events.values())
    about = {event.key: event for event in events if event.involved_kind in _KINDS and event.involved_name in names}
    return sorted(about.values(), key=lambda event: event.last_ns)


def _gone_lines(gone: ReplacedClaim, events: Iterable[Event], now_ns: int) -> Iterator[Pieces]:
    yield (("The node is gone.", Tone.STRONG),)
    yield from replacement_sentences(gone, now_ns)
    for number, event in enumerate(events):
        if not number:
            yield ()
            yield (("Events", Tone.STRONG),)
        yield ((event_line(event).strip(), Tone.NORMAL),)


def _claim(entry: NodeEntry) -> str:
    return entry.claim.name if entry.claim is not None else ""


def _explained(
    entry: NodeEntry, detail: NodeDetail | None, loaded: Loaded
) -> tuple[list[dict[str, Any]], Iterable[Pieces], Loaded]:
    now_ns = loaded.now_ns
    pods = loaded.view.pods_on(entry.name) if entry.node is not None else ()
    objects = (("Node", entry.node), ("NodeClaim", entry.claim))
    found, said = findings_about(loaded, {f"{kind}/{item.name}" for kind, item in objects if item is not None})
    lines: list[Pieces] = [title_parts(entry, now_ns), *said, ()]
    lines += why_lines(entry, detail, now_ns)
    workload, rule = kept_apart(loaded.view, entry) or ("", "")
    if rule in APART:
        lines += [((" ! ", Tone.WARNING), (f"pods of {clean(workload)} {APART[rule]}", Tone.NORMAL)), ()]
    lines += [(("What fits", Tone.STRONG),), *resource_lines(entry), ()]
    lines += [*node_lines(entry, now_ns), *claim_lines(entry, now_ns)]
    lines += _pod_lines(pods, detail, now_ns)
    return [{**_values(entry, detail, pods, now_ns), "findings": found}], lines, loaded


def _pod_lines(pods: tuple[PodEntry, ...], detail: NodeDetail | None, now_ns: int) -> list[Pieces]:
    if not pods:
        return []

    def landing(item: PodEntry) -> Cell:
        return landing_cell(detail.landings.get(item.pod.key) if detail is not None else None, item.pod)

    spec = with_landings(pods_of_node_table(), landing)
    rows = build_rows(spec, pods, sort=Sort("cpu", is_descending=True), now_ns=now_ns)
    shown = [index for index, heading in enumerate(spec.headings()) if heading.id in _SHOWN]
    text = as_text(spec.headings(), rows, shown)
    return [(), (("Pods, and where each would land if the node were removed", Tone.STRONG),), *(
        ((line, Tone.NORMAL),) for line in text.splitlines()
    )]  # fmt: skip


def _values(entry: NodeEntry, detail: NodeDetail | None, pods: tuple[PodEntry, ...], now_ns: int) -> dict[str, Any]:
    findings = entry.findings
    landings = detail.landings if detail is not None else {}
    return {
        **nodes_table().values(entry, now_ns),
        "gates": [
            {
                "gate": str(gate.gate),
                "open": gate.is_open,
                "message": gate.message or None,
                "object": gate.object_key or None,
            }
            for gate in (detail.gates if detail is not None else ())
        ],
        "blockers": _blockers(entry),
        "outcome_now": str(findings.outlook.now.outcome)
        if findings is not None and findings.outlook is not None
        else None,
        "simulation_problem": (detail.problem or None) if detail is not None else None,
        "pods_on_node": [
            {
                "pod": item.pod.key,
                "cpu_millis": item.cpu_millis,
                "mem_bytes": item.memory_bytes,
                "owner": item.owner or None,
                "protection": item.protection_text(now_ns) or None,
                "lands_on_node": landing.node_name or None if (landing := landings.get(item.pod.key)) else None,
                "lands_in_pool": landing.pool_name or None if landing else None,
                "lands_on_type": landing.type_name or None if landing else None,
                "lands_nowhere_because": landing.error or None if landing else None,
                "is_lost_if_evicted": item.pod.template.is_lost_if_evicted,
            }
            for item in pods
        ],
    }


def _blockers(entry: NodeEntry) -> list[dict[str, Any]]:
    findings = entry.findings
    if findings is None:
        return []
    paid = entry.price.per_hour if entry.price is not None else None
    without: tuple[Outcome, ...] = findings.outlook.without if findings.outlook is not None else ()
    return [
        blocker_json(blocker, without[place] if place < len(without) else Outcome.UNKNOWN, findings.recent_pods)
        | {"pricePerHour": paid}
        for place, blocker in enumerate(findings.blockers)
    ]
