"""`karptui capacity --by namespace|owner|label=KEY`: node prices divided by requests, now or over a recorded time."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING, Final

from karptui.cli.history import span
from karptui.cli.listing import has_lines_above, print_lines, print_rows, rows_of
from karptui.cli.loading import Loaded, load, with_notes
from karptui.cli.options import add_span_flags, add_step_flag, refuse_unused
from karptui.cli.source import chosen_history
from karptui.cli.streams import UsageError, show_progress
from karptui.decode.kinds import Kind
from karptui.kube.timestamps import PastTime

if TYPE_CHECKING:
    from karptui.session.dollars import Dollars

_MOST: Final = 200
"""Moments of one answer: the cluster is read at each of them."""
_USUAL: Final = 24


def capacity_grouping(text: str) -> str:
    """Return the property that rows are grouped by.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    from karptui.session import capacity, dollars

    names = (*capacity.GROUPINGS, *dollars.GROUPINGS)
    if text in names or (text.startswith(dollars.BY_LABEL) and text != dollars.BY_LABEL):
        return text
    raise argparse.ArgumentTypeError(f"{text!r:.80} is none of {', '.join(names)} and label=KEY")


def is_of_pods(args: argparse.Namespace) -> bool:
    """Return whether prices are divided between pods."""
    from karptui.session.capacity import GROUPINGS

    return args.by not in GROUPINGS


def add_dollars_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("dollars over time", "with --by namespace, owner or label=KEY, from a history")
    add_span_flags(group, since=None)
    add_step_flag(group, "time between two moments (default: 24 moments)")


def prepare_dollars(args: argparse.Namespace) -> None:
    """Have the end of the asked time read from the history instead of the cluster, with ``--from``.

    Raises:
        UsageError: Flags conflict, or there is no history.
    """
    if not is_of_pods(args):
        refuse_unused(args, ("since", "until", "step"), "needs --by namespace, owner or label=KEY")
    elif args.packing is not None:
        raise UsageError(f"--packing draws NodePools: it cannot be combined with --by {args.by}")
    elif args.since is None:
        refuse_unused(args, ("until", "step"), "needs --from")
    else:
        chosen_history(args)
        args.at = args.until or PastTime("", ago_ns=0)


def print_dollars(args: argparse.Namespace, loaded: Loaded) -> Loaded:
    """Print the shares of the node prices. Raises UsageError: flags conflict, or the time is not recorded."""
    from karptui.session.dollars import dollars_of
    from karptui.views.dollars import dollars_lines, dollars_table

    if args.disable_pricing:
        raise UsageError(f"--by {args.by} divides prices: it cannot be combined with --disable-pricing")
    rows_of(dollars_table(args.by), (), args, 0)  # refuses a filter or an order before a history is read
    if args.since is None:
        dollars = dollars_of(loaded.view.node_entries, loaded.view.pod_entries, args.by)
    else:
        loaded, dollars = _over_time(args, loaded)
    rows = rows_of(dollars_table(args.by), dollars.payers, args, loaded.now_ns)
    if has_lines_above(args):
        print_lines((*dollars_lines(dollars), ()))
    print_rows(rows, args)
    return loaded


def _over_time(args: argparse.Namespace, loaded: Loaded) -> tuple[Loaded, Dollars]:
    from karptui.session.dollars import dollars_of, over_time
    from karptui.sources.history.store import History

    args.at = None  # the end has been read
    with closing(History(chosen_history(args))) as history:
        from_ns, to_ns = history.recorded_span(*span(history, args.since, args.until))
        sessions = history.sessions()
    step_ns = args.step or max((to_ns - from_ns) // _USUAL, 1)
    instants = range(from_ns, to_ns, step_ns)
    if len(instants) > _MOST:
        raise UsageError(f"--step: that makes more than {_MOST:,} moments; choose a longer step or a shorter time")
    moments: dict[int, Dollars | None] = {}
    notes = list(loaded.notes)
    for number, at_ns in enumerate(instants):
        show_progress(f"{number} of {len(instants)} moments read")
        moments[at_ns] = None
        if any(session.from_ns <= at_ns <= session.to_ns for session in sessions):
            args.at = PastTime("", instant_ns=at_ns)
            moment = load(args, (Kind.NODE, Kind.NODECLAIM, Kind.POD))
            moments[at_ns] = dollars_of(moment.view.node_entries, moment.view.pod_entries, args.by)
            notes += moment.notes
    args.at = None
    return with_notes(loaded, notes), over_time(moments)
