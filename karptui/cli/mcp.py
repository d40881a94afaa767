"""`karptui mcp`: the answers of read-only commands as tools of the Model Context Protocol, over stdio."""

from __future__ import annotations

import argparse
from typing import Final

from karptui.cli import heartbeat
from karptui.cli.option_values import number
from karptui.cli.options import add_cluster_flags, add_price_flags, add_timeout_flag, refuse_live, refuse_unused
from karptui.cli.streams import UsageError

INSTALL: Final = "karptui mcp needs the SDK of the Model Context Protocol: install karptui with the extra mcp"
_MOST_KILOBYTES: Final = 10_000


def configure(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what the assistant receives")
    group.add_argument(
        "--no-redact",
        dest="redact",
        action="store_false",
        help="send real names and messages instead of the pseudonyms of karptui record --redact",
    )
    group.add_argument(
        "--kilobytes",
        metavar="N",
        type=number(_MOST_KILOBYTES),
        default=60,
        help="largest answer of a tool; longer lists are cut, and the answer says so (default: 60)",
    )
    add_timeout_flag(group, "longest time for an answer, with reading the cluster (default: 2m)", default="2m")
    add_cluster_flags(parser, takes_several=False)
    add_price_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until standard input ends. Status 2 if the SDK is not installed."""
    refuse_unused(args, ("at", "now"), "cannot be combined with mcp: its tools name the moment")
    if args.demo or args.snapshot:
        refuse_live(args)
    if any(name == "-" for name in args.snapshot or ()):
        raise UsageError("--snapshot -: standard input carries the protocol; name a file")
    if not args.timeout:
        raise UsageError("--timeout: 0 leaves no time for an answer")
    heartbeat.stop()
    try:
        from karptui.cli.mcp_server import serve
    except ImportError:
        raise UsageError(INSTALL) from None
    return serve(args)
