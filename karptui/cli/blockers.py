"""`karptui blockers`: everything that keeps Karpenter from disrupting each node, and the outcome without it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from karptui.cli.listing import json_text, print_csv, refuse_unseen, refuse_unsimulated, report
from karptui.cli.options import add_cluster_flags, add_output_flag, add_price_flags
from karptui.cli.pages import Entry
from karptui.cli.streams import put, say
from karptui.decode.kinds import Kind
from karptui.kube.group import group_by
from karptui.kube.units import counted
from karptui.views.sanitize import clean, page

if TYPE_CHECKING:
    from karptui.provisioning.prepared import Prepared

COLUMNS: Final = {
    "node": Entry("NODE", "The blocked node; - for blockers of the whole cluster."),
    "pricePerHour": Entry("$/H", "Price of the node per hour; n/a if unknown."),
    "code": Entry("CODE", "Code of the blocker, as listed below."),
    "object": Entry("OBJECT", "The pod, node or NodePool that blocks."),
    "owner": Entry("OWNER", "The controller behind the pod."),
    "value": Entry("VALUE", "Its annotation, budget or PodDisruptionBudgets."),
    "since": Entry("SINCE", "When it began to block; - if unknown."),
    "until": Entry("UNTIL", "When it ends without a change; - if never."),
    "wouldGoWithout": Entry(
        "WITHOUT IT",
        "Outcome for the node without this blocker, or its PodDisruptionBudgets (simulated): delete or replace; "
        "no: something else blocks it; unknown: not simulated, or not known.",
    ),
    "podsInLastHour": Entry("PODS 1H", "Pods bound to the node in the last hour, without DaemonSets."),
}
"""CSV columns, with their titles in the table and their help."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--node", metavar="NAME", help="only this node")
    parser.add_argument(
        "--no-simulation", action="store_true", help="do not simulate removals: wouldGoWithout is unknown throughout"
    )
    add_output_flag(parser)
    add_cluster_flags(parser, takes_several=False)
    add_price_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Print the blockers. Status 1 if something is missing, 2 if nothing can be read."""
    from karptui.cli.loading import load
    from karptui.session.prepare import prepare_view

    needed = (Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODEPOOL, Kind.NODECLASS, Kind.PDB)
    loaded = load(args, needed)
    refuse_unseen(loaded, Kind.NODE)
    refuse_unsimulated(loaded)
    prepared, notes = prepare_view(loaded.view, loaded.now_ns)
    for note in notes:
        say(note)
    paid = {entry.name: entry.price.per_hour for entry in loaded.view.node_entries if entry.price is not None}
    rows = blocker_rows(prepared, node_name=args.node, simulates=not args.no_simulation)
    # The price that Nodes shows; Karpenter reckons spot of unknown price as on demand.
    _print([{**row, "pricePerHour": paid.get(row["node"])} for row in rows], args.output)
    return report(loaded)


def blocker_rows(prepared: Prepared, *, node_name: str | None, simulates: bool) -> Iterable[dict[str, Any]]:
    """Yield the blockers in the command's form: of the cluster, then by node."""
    from karptui.disruption.blockers import BlockerSurvey
    from karptui.disruption.fleet import arrivals
    from karptui.disruption.json_form import blocker_json
    from karptui.disruption.methods import observed_fleet
    from karptui.disruption.outlook import Outcome, RemovalSimulator

    fleet = observed_fleet(prepared)
    survey, outlook = BlockerSurvey(fleet), RemovalSimulator(prepared, fleet)
    if node_name is None:
        yield from (blocker_json(blocker, Outcome.UNKNOWN, 0) for blocker in survey.cluster)
    for node in fleet.nodes:
        if node_name is not None and node_name not in (node.name, node.claim.name if node.claim is not None else ""):
            continue
        blockers = survey.of(node)
        recent = len(arrivals(fleet, node))
        for blocker in blockers:
            without = Outcome.UNKNOWN
            if simulates:
                without = outlook.without(node, blocker, (*survey.cluster, *blockers)).outcome
            yield blocker_json(blocker, without, recent)


def _print(rows: list[dict[str, Any]], form: str) -> None:
    from karptui.views.table import aligned

    if form == "json":
        put(json_text(rows))
        return
    if form == "csv":
        print_csv((*COLUMNS, "wanted"), rows)
        return
    if not rows:
        put(page("no blockers"), is_error=True)
        return
    cells = [[_cell(name, row[name]) for name in COLUMNS] for row in without_idle(rows)]
    for line in aligned([[column.term for column in COLUMNS.values()], *cells]):
        put(page(line))


def without_idle(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with blockers that stop no method last, folded by code and outcome."""
    idle = group_by(
        # A node that is being deleted goes with and without this.
        (row | {"wouldGoWithout": ""} if row["code"] == "DELETING" else row for row in rows if not row["wanted"]),
        lambda row: (row["code"], row["wouldGoWithout"]),
    )
    blank = {"pricePerHour": "-", "since": None, "podsInLastHour": 0}
    return [
        *(row for row in rows if row["wanted"]),
        *({**documents[0], **blank, **_folded(documents)} for documents in idle.values()),
    ]


def _folded(rows: list[dict[str, Any]]) -> dict[str, Any]:
    nodes, objects = len({row["node"] for row in rows}), {row["object"] for row in rows}
    state = "being deleted" if rows[0]["code"] == "DELETING" else "that no method wants now"
    return {
        "node": f"{counted(nodes, 'node')} {state}",
        "object": objects.pop() if len(objects) == 1 else "",
        **({"owner": "", "value": "", "until": None} if len(rows) > 1 else {}),
    }


def _cell(name: str, value: object) -> str:
    if value is None or value == "":
        return "-" if name != "pricePerHour" else "n/a"
    return f"{value:.4f}" if isinstance(value, float) else clean(str(value))
