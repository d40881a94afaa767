"""`karptui types`: the instance types that each NodePool may launch, or that an EC2NodeClass and settings come to."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from karptui.cli.evidence import add_price_flags
from karptui.cli.flags import add_cluster_flags
from karptui.cli.listing import add_row_flags

MIB: Final = 1 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "case",
        metavar="CASE.json",
        nargs="?",
        help="document with region, settings, nodeClass and zones, plain or gzip; - reads standard input. "
        "Without one, the NodePools of a cluster are answered for",
    )
    parser.add_argument("--pool", metavar="NAME", help="the types of this NodePool; all pools, a line each, without it")
    parser.add_argument("--ledger", metavar="TYPE", help="where the memory of one type goes in the NodePool")
    parser.add_argument("--all", action="store_true", help="also types that the NodePool's requirements rule out")
    parser.add_argument("--types", metavar="A,B", help="only these instance types")
    add_cluster_flags(parser, takes_several=False)
    add_price_flags(parser)
    add_row_flags(parser, labels_of="nothing: types have no labels")


def run(args: argparse.Namespace) -> int:
    """Print the answer; 2 where the case or the cluster cannot be read."""
    if args.case is None:
        from karptui.cli.pool_types import run_pools

        return run_pools(args)
    from karptui.aws.case import CaseError, answer, parse_case
    from karptui.aws.errors import NodeClassError

    names = [name.strip() for name in args.types.split(",") if name.strip()] if args.types else None
    try:
        case = parse_case(_read(args.case))
        document = answer(case, names)
    except (OSError, ValueError) as error:
        expected = isinstance(error, (CaseError, NodeClassError, OSError))
        sentence = str(error) if expected else f"is not a JSON document: {error}"
        print(f"karptui types: {args.case}: {sentence}", file=sys.stderr)
        return 2
    for note in case.notes:
        print(f"karptui types: {note}", file=sys.stderr)
    if args.output == "json":
        _print_json(document)
    else:
        _print_rows(document, args.output)
    return 0


def _read(path: str) -> Any:
    import gzip
    from pathlib import Path

    import msgspec

    content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    return msgspec.json.decode(content)


def _print_json(document: dict[str, Any]) -> None:
    from karptui.cli.json_text import json_text

    sys.stdout.write(json_text(document) + "\n")


COLUMNS: Final = (
    "name",
    "vcpus",
    "memory_mib",
    "allocatable_cpu_millis",
    "allocatable_memory_mib",
    "pods",
    "on_demand_price_per_hour",
    "offered_in",
    "ruled_out",
)


def _print_rows(document: dict[str, Any], form: str) -> None:
    import csv

    rows = [_row(name, one, document) for name, one in document["types"].items()]
    if form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
        return
    headings = ("NAME", "VCPU", "MEM Mi", "ALLOC CPU m", "ALLOC MEM Mi", "PODS", "$/H", "OFFERED IN", "RULED OUT")
    texts = [headings, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[index]) for row in texts) for index in range(len(headings))]
    for row in texts:
        print("  ".join(_padded(index, cell, widths[index]) for index, cell in enumerate(row)).rstrip())
    print(f"prices: {document['prices']}, on demand; no spot prices are known")


def _padded(index: int, cell: str, width: int) -> str:
    return cell.rjust(width) if 0 < index < 7 else cell.ljust(width)


def _row(name: str, one: dict[str, Any], document: dict[str, Any]) -> tuple[Any, ...]:
    labels = {entry["key"]: entry["values"] for entry in one["requirements"]}
    on_demand = [offering for offering in one["offerings"] if offering["capacityType"] == "on-demand"]
    prices = [offering["price"] for offering in on_demand if offering["price"]]
    zones = sorted({offering["zone"] for offering in one["offerings"] if offering["available"]})
    return (
        name,
        one["capacity"]["cpuMilli"] // 1000,
        int(labels["karpenter.k8s.aws/instance-memory"][0]),
        one["allocatable"]["cpuMilli"],
        one["allocatable"]["memoryBytes"] // MIB,
        one["capacity"]["pods"],
        f"{prices[0]:.4f}" if prices else "n/a",
        " ".join(zones) or "-",
        "yes" if name in document["incompatible"] else "",
    )
