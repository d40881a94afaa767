"""`karptui types`: the instance types that each NodePool may launch, or that an EC2NodeClass and settings come to."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from karptui.cli.evidence import PRICE_FLAGS, add_price_flags
from karptui.cli.flags import CLUSTER_FLAGS, add_cluster_flags, add_row_flags, file_name, refuse_unused, words
from karptui.cli.listing import print_rows, rows_of
from karptui.cli.source import UsageError, fail

if TYPE_CHECKING:
    from karptui.aws.case import TypesCase


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "case",
        metavar="CASE.json",
        nargs="?",
        type=file_name,
        help="document with region, settings, nodeClass and zones, JSON or YAML, plain or gzip; - reads standard "
        "input. "
        "Without one, the NodePools of a cluster are answered for",
    )
    parser.add_argument("--pool", metavar="NAME", help="the types of this NodePool; all pools, a line each, without it")
    parser.add_argument("--ledger", metavar="TYPE", help="where the memory of one type goes in the NodePool")
    parser.add_argument("--all", action="store_true", help="also types that the NodePool's requirements rule out")
    parser.add_argument("--types", metavar="A,B", help="only these instance types")
    add_cluster_flags(parser, takes_several=False)
    add_price_flags(parser, applies_to="Of a cluster, as in the configuration; a CASE has list prices.")
    add_row_flags(parser, labels_of=None)


def run(args: argparse.Namespace) -> int:
    """Print the answer; 2 where the case or the cluster cannot be read."""
    from karptui.sources.base import SourceError

    try:
        if args.case is None:
            from karptui.cli.pool_types import run_pools

            return run_pools(args)
        return _run_case(args)
    except (UsageError, SourceError) as error:
        fail(str(error), "types")


def _run_case(args: argparse.Namespace) -> int:
    """Print the types of a case.

    Raises:
        UsageError: where the case or the flags cannot be used.
        SourceError: where the file is no document.
    """
    from karptui.aws.case import CaseError, answer
    from karptui.aws.nodeclass import NodeClassError
    from karptui.views.sanitize import clean
    from karptui.views.types.case import CASE_TABLE, case_types

    of_pools = {"pool": "--pool", "ledger": "--ledger", "all": "--all"}
    refuse_unused(args, {**of_pools, **CLUSTER_FLAGS, **PRICE_FLAGS}, "is about a cluster: it does not go with CASE")
    try:
        case = _case(args.case)
        document = answer(case, words(args.types) if args.types else None)
    except (CaseError, NodeClassError) as error:
        raise UsageError(f"{args.case}: {error}") from error
    rows = rows_of(CASE_TABLE, case_types(document), args, 0)
    for note in case.notes:
        print(f"karptui types: {clean(note)}", file=sys.stderr)
    if args.output == "json":
        _print_json(document, rows.keys)
        return 0
    print_rows(rows, args)
    if args.output in ("table", "wide"):
        print(f"prices: {document['prices']}, on demand; no spot prices are known")
    return 0


def _case(path: str) -> TypesCase:
    from karptui.aws.case import parse_case
    from karptui.kube.objects import object_words
    from karptui.sources.snapshot.documents import documents

    found = list(documents([path]))
    for document in found:
        objects = object_words(document.value)
        if objects:
            hint = "; an EC2NodeClass stands under nodeClass in a case" if "EC2NodeClass" in objects else ""
            raise UsageError(f"{document.where}: is {objects}, not a case: --snapshot FILE reads objects{hint}")
    if len(found) > 1:
        raise UsageError(f"{path}: holds {len(found)} documents; a case is one")
    return parse_case(found[0].value)


def _print_json(document: dict[str, Any], names: Sequence[str]) -> None:
    from karptui.cli.listing import json_text

    shown = {name: document["types"][name] for name in names}
    ruled_out = [name for name in document["incompatible"] if name in shown]
    sys.stdout.write(json_text({**document, "incompatible": ruled_out, "types": shown}) + "\n")
