"""`karptui advice`: traps in a cluster's objects, with an exit status by severity."""

from __future__ import annotations

import argparse
import difflib

from karptui.cli.fail_on import SEVERITIES, severity_status
from karptui.cli.listing import print_rows, report, rows_of
from karptui.cli.options import (
    CLUSTER_FLAGS,
    PRICE_FLAGS,
    ROW_FLAGS,
    add_cluster_flags,
    add_price_flags,
    add_row_flags,
    add_usage_flag,
    refuse_unused,
)
from karptui.cli.streams import UsageError, put, say
from karptui.decode.kinds import Kind
from karptui.views.sanitize import page


def configure(parser: argparse.ArgumentParser) -> None:
    add_cluster_flags(parser)
    add_price_flags(parser)
    add_usage_flag(parser)
    add_row_flags(
        parser,
        labels_of=None,
        rows="findings",
        filter_example="rule=pool-* severity=error $>1",
        sort_example="price=dsc",
        hold="facts, remedies, objects and edits",
    )
    group = parser.add_argument_group("what counts")
    group.add_argument(
        "--fail-on",
        choices=(*SEVERITIES, "never"),
        default="warning",
        help="lowest severity that makes the exit status other than 0 (default: warning)",
    )
    group.add_argument("--explain", metavar="RULE", help="print the meaning and remedy of a rule; no cluster is read")
    group.add_argument("--rules", action="store_true", help="list the rules; no cluster is read")


def run(args: argparse.Namespace) -> int:
    """Print the findings; the exit status is that of the worst severity shown."""
    if args.rules or args.explain:
        return _rules(args)
    from karptui.cli.loading import load
    from karptui.session.advice import AdviceEntry, advice_entries
    from karptui.session.advising import advice_of
    from karptui.session.readiness import unready_because
    from karptui.views.advice import TABLE

    needed = (Kind.NODEPOOL, Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODECLASS, Kind.PDB, Kind.DAEMONSET)
    loaded = load(args, needed)
    if reason := unready_because(loaded.view):
        raise UsageError(f"the rules cannot run: {reason}")
    advice_report, notes = advice_of(loaded.view, loaded.now_ns)
    rows = rows_of(TABLE, advice_entries(advice_report), args, loaded.now_ns)
    print_rows(rows, args)
    for sentence in (*notes, *advice_report.failures):
        say(sentence)
    status = report(loaded)
    shown = [line for line in rows.items if isinstance(line, AdviceEntry)]
    worst = min((line.severity for line in shown), key=lambda severity: severity.rank, default=None)
    failed = severity_status(() if worst is None else (str(worst),), args.fail_on)
    return failed or status or int(bool(advice_report.failures))


def _rules(args: argparse.Namespace) -> int:
    """List the rules, or explain one. Raises UsageError where a flag would have no effect."""
    what = "--rules" if args.rules else "--explain"
    unused = [*ROW_FLAGS, "no_headers", "usage", *CLUSTER_FLAGS, *PRICE_FLAGS, *(["explain"] if args.rules else ())]
    refuse_unused(args, unused, f"is about findings of a cluster: it cannot be combined with {what}")
    if args.output != "table":
        raise UsageError(f"{what} prints text: leave -o {args.output} out")
    from karptui.advice.catalogue import BY_ID, RULES, rule_text

    if args.rules:
        width = max(len(rule.id) for rule in RULES)
        for rule in RULES:
            put(page(f"{rule.id:<{width}}  {rule.title}"))
        return 0
    if args.explain not in BY_ID:
        near = difflib.get_close_matches(args.explain, BY_ID, n=1)
        hint = f"did you mean {near[0]}?" if near else "--rules lists them"
        raise UsageError(f"there is no rule {args.explain!r}; {hint}")
    put(page(rule_text(BY_ID[args.explain])), end="")
    return 0
