"""`karptui explain pod`: gates of each NodePool, nodes tried, messages, and remedies."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from karptui.aws.money import node_price_text
from karptui.cli.explain_findings import findings_about
from karptui.cli.listing import item_named, width_of_terminal
from karptui.cli.loading import Loaded, with_notes
from karptui.cli.pools import churn_of, compared
from karptui.cli.streams import UsageError
from karptui.errors import no_such
from karptui.kube.objects import controller_of
from karptui.kube.pod import Pod
from karptui.kube.units import count_text
from karptui.session.cluster_view import ClusterView
from karptui.session.pending import PendingQuestions, surroundings_of
from karptui.session.pending_report import PendingEntry, PodDetail
from karptui.session.pods import PodEntry
from karptui.session.pools import daemon_rows, pool_rows, with_last_hour
from karptui.session.prepare import prepare_view
from karptui.session.readiness import may_list_events
from karptui.views.pending.explained import explained_lines, explained_values, title_text
from karptui.views.pending.remedies import gain_text, remedies_sentence, remedy_words
from karptui.views.pods import TABLE as PODS
from karptui.views.pods import explain_pod as pod_sentence
from karptui.views.pools.columns import pools_table
from karptui.views.pools.detail import DAEMONSETS, detail_lines, title_parts
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import as_text, build_rows

Explained = tuple[list[dict[str, Any]], Iterable[Pieces], Loaded]


def explain_pod(args: argparse.Namespace, loaded: Loaded) -> Explained:
    """Return a pod as values and as lines. Raises UsageError when there is no such pod, or several."""
    view = loaded.view
    pod = find_pod(view, args.name, args.namespace)
    prepared, notes = prepare_view(view, loaded.now_ns)
    loaded = with_notes(loaded, notes)
    questions = PendingQuestions(tries_changes=not args.no_remedies)
    questions.begin(prepared, view, notes)
    while questions.look_at(pod.key):
        pass
    report = questions.report
    group = report.by_pod.get(pod.key) if report is not None else None
    if report is None or group is None:
        return _explained_without_turn(view, pod, loaded)
    group = group.about(pod.key)
    detail = report.detail
    entry = PendingEntry(group, may_list_events(view))
    found, said = _findings_of(pod, loaded)
    values = {"pod": pod.key, **explained_values(entry, detail, loaded.now_ns), "findings": found}
    width = width_of_terminal()
    lines: list[Pieces] = [((title_text(group, loaded.now_ns), Tone.STRONG),), ()]
    lines += said
    lines += explained_lines(
        group,
        detail,
        surroundings_of(group.first, view.state),
        now_ns=loaded.now_ns,
        width=width,
        may_list_events=entry.may_list_events,
    )
    lines += _remedies(detail, group.name)
    return [values], lines, loaded


def _findings_of(pod: Pod, loaded: Loaded) -> tuple[list[dict[str, Any]], list[Pieces]]:
    """Return the verdict's findings about a pod, its workload and its node."""
    view = loaded.view
    entry, node = view.pod_entry(pod.key), view.node_of(pod.node_name)
    owners = (owner for owner in (entry.made_by if entry else None, controller_of(pod.owners)) if owner is not None)
    around = {f"Node/{pod.node_name}"} | ({f"NodeClaim/{node.claim.name}"} if node and node.claim else set())
    own = {f"Pod/{pod.key}"} | {f"{owner.kind}/{pod.namespace}/{owner.name}" for owner in owners}
    return findings_about(loaded, own, around)


def find_pod(view: ClusterView, name: str, namespace: str) -> Pod:
    """Return the named pod. Raises UsageError: there is none, or several."""
    pods = view.state.pods
    key = name if "/" in name else f"{namespace}/{name}" if namespace else ""
    if key:
        return item_named("pod", key, pods)
    values = [pod for pod in pods.values() if pod.name == name]
    if not values:
        raise no_such("pod", name, [pod.name for pod in pods.values()])
    if len(values) > 1:
        spaces = ", ".join(sorted(pod.namespace for pod in values)[:5])
        raise UsageError(f"there are {len(values)} pods {name}, in {spaces}: name one with -n or NAMESPACE/NAME")
    return values[0]


def _explained_without_turn(view: ClusterView, pod: Pod, loaded: Loaded) -> Explained:
    node = view.node_of(pod.node_name)
    entry = view.pod_entry(pod.key) or PodEntry(pod.key, pod, node.pool if node is not None else "")
    found, said = _findings_of(pod, loaded)
    turn = "bound" if pod.node_name else "ended"
    values = {"pod": pod.key, "turn": turn, **PODS.values(entry, loaded.now_ns), "findings": found}
    sentence = pod_sentence(entry, loaded.now_ns)
    ended = "has ended" if pod.is_terminal else f"is not pending: it is on {clean(pod.node_name)}"
    lines: list[Pieces] = [((f"{clean(pod.key)} {ended}", Tone.STRONG),), sentence, *said]
    if pod.node_name and not pod.is_terminal:
        lines.append(((f"`karptui explain node {clean(pod.node_name)}` shows why its node is still here", Tone.MUTED),))
    return [values], lines, loaded


def _remedies(detail: PodDetail | None, name: str) -> Iterator[Pieces]:
    report = detail.remedies if detail is not None else None
    if report is None:
        return
    yield ()
    yield (("What would help: ", Tone.STRONG), remedies_sentence(report))
    for remedy in report.remedies:
        gain = remedy.gain
        price = f", {node_price_text(gain.price_per_hour)}/h" if gain.price_per_hour is not None else ""
        lost = f"; {count_text(len(gain.displaced))} other pods become unschedulable" if gain.displaced else ""
        some = "" if gain.placed == gain.asked else f" ({count_text(gain.placed)} of {count_text(gain.asked)} pods)"
        words = f"  {remedy_words(remedy, name)}  → {gain_text(gain)}{price}{some}{lost}"
        yield ((words, Tone.NORMAL),)
    yield from (((f"  {clean(sentence)}", Tone.MUTED),) for sentence in report.left_out)


def explain_pool(args: argparse.Namespace, loaded: Loaded) -> tuple[list[dict[str, Any]], Iterable[Pieces], Loaded]:
    """Return a NodePool as values and as lines. Raises UsageError when there is no such NodePool."""
    if args.name not in loaded.view.state.nodepools:
        raise no_such("NodePool", args.name, loaded.view.state.nodepools)
    view, notes = compared(loaded.view, loaded.now_ns)
    loaded = with_notes(replace(loaded, view=view), notes)
    pools = with_last_hour(pool_rows(view), churn_of(loaded))
    row = next(pool for pool in pools if pool.name == args.name)
    daemonsets = daemon_rows(view, row.name)
    nodes = [node for node in view.node_entries if node.pool == row.name]
    around = {f"Node/{node.name}" for node in nodes} | {f"NodeClaim/{node.claim.name}" for node in nodes if node.claim}
    around.add(view.state.nodepools[row.name].node_class_ref.key)
    found, said = findings_about(loaded, {f"NodePool/{row.name}"}, around)
    counts = [{"filter": str(c.filter), "left": c.left, "removed_by": dict(c.reasons)} for c in row.types.counts]
    values = {
        **pools_table().values(row, loaded.now_ns),
        "daemonsets": [DAEMONSETS.values(daemonset, loaded.now_ns) for daemonset in daemonsets],
        "types_after_each_filter": counts,
        "findings": found,
    }
    lines: list[Pieces] = [title_parts(row, has_prices=not args.disable_pricing), *said, *detail_lines(row)]
    if daemonsets:
        rows = build_rows(DAEMONSETS, daemonsets, now_ns=loaded.now_ns)
        shown = [index for index, heading in enumerate(DAEMONSETS.headings()) if not heading.is_wide_only]
        lines += [(), (("DaemonSets on its new nodes", Tone.STRONG),)]
        lines += [((line, Tone.NORMAL),) for line in as_text(DAEMONSETS.headings(), rows, shown).splitlines()]
    return [values], lines, loaded
