"""`karptui types`: the instance types that each NodePool, or an EC2NodeClass with settings, may launch."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from msgspec.structs import replace

from karptui.cli.listing import (
    item_named,
    json_text,
    print_csv,
    print_json,
    print_lines,
    print_rows,
    refuse_unseen,
    report,
    rows_of,
)
from karptui.cli.option_values import file_name, words
from karptui.cli.options import (
    CLUSTER_FLAGS,
    PRICE_FLAGS,
    ROW_FLAGS,
    add_cluster_flags,
    add_price_flags,
    add_row_flags,
    refuse_unused,
)
from karptui.cli.streams import UsageError, put, say
from karptui.decode.kinds import Kind
from karptui.kube.objects import object_words
from karptui.views.sanitize import page

if TYPE_CHECKING:
    from karptui.aws.case import TypesCase
    from karptui.cli.loading import Loaded
    from karptui.session.types import TypeEntry
    from karptui.session.types_of_pools import TypesOfPool


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "case",
        metavar="FILE",
        nargs="?",
        type=file_name,
        help="a recording or manifests, the same as --snapshot; or a document with region, settings, nodeClass and"
        " zones (JSON or YAML, plain or gzip, - is standard input), whose types are printed as JSON",
    )
    parser.add_argument("--pool", metavar="NAME", help="the types of this NodePool; all pools, a line each, without it")
    parser.add_argument("--ledger", metavar="TYPE", help="where the memory of one type goes in the NodePool")
    parser.add_argument("--all", action="store_true", help="also types that the NodePool's requirements rule out")
    parser.add_argument("--types", metavar="A,B", help="only these instance types")
    add_cluster_flags(parser, takes_several=False, files="")
    add_price_flags(parser, applies_to="Of a cluster, as in the configuration; a CASE has list prices.")
    add_row_flags(parser, labels_of=None)


def run(args: argparse.Namespace) -> int:
    """Print the answer. Status 1 if Karpenter finds no types for the case, 2 if it or the cluster is unreadable."""
    if args.case is not None and args.case != "-" and _objects_in(args.case):
        args.snapshot, args.case = [*(args.snapshot or ()), args.case], None
    return _run_pools(args) if args.case is None else _run_case(args)


def _run_case(args: argparse.Namespace) -> int:
    """Print the types of a case as JSON.

    Raises:
        UsageError: if the case or the flags cannot be used.
        SourceError: if the file is not a document.
    """
    from karptui.aws.case import CaseError, answer
    from karptui.aws.nodeclass import NodeClassError
    from karptui.whatif.drift.hashes import ec2_nodeclass_hash

    if args.output not in ("table", "json"):
        raise UsageError(f"the types of a case are printed as JSON: leave -o {args.output} out")
    of_clusters = ("pool", "ledger", "all", *ROW_FLAGS, "no_headers", *CLUSTER_FLAGS, *PRICE_FLAGS)
    refuse_unused(args, of_clusters, "is about a cluster: it cannot be combined with CASE")
    try:
        case = _case(args.case)
        document = answer(case, sorted(words(args.types)) if args.types else None)
    except (CaseError, NodeClassError) as error:
        raise UsageError(f"{args.case}: {error}") from error
    problem = document["answers"].get("error", "")
    for note in (*case.notes, *filter(None, (problem,))):
        say(note)
    version = case.settings.rules.nodeclass_hash
    document["answers"]["hash"] = {"value": ec2_nodeclass_hash(case.given, version=version), "version": version}
    put(json_text(document))
    return 1 if problem else 0


def _objects_in(path: str) -> str:
    """Return the kinds of objects in a file as text: then it is a recording or manifests, and not a case."""
    from karptui.sources.snapshot.documents import documents

    return next(filter(None, (object_words(document.value) for document in documents([path]))), "")


def _case(path: str) -> TypesCase:
    from karptui.aws.case import parse_case
    from karptui.sources.snapshot.documents import documents

    snapshot_documents = list(documents([path]))
    for document in snapshot_documents:
        if objects := object_words(document.value):
            raise UsageError(f"{document.where}: is {objects}, not a case: --snapshot FILE reads objects")
    if len(snapshot_documents) > 1:
        raise UsageError(f"{path}: holds {len(snapshot_documents)} documents; a case is one")
    return parse_case(snapshot_documents[0].value)


def _run_pools(args: argparse.Namespace) -> int:
    """Print NodePools, the types of one, or the ledger of one type. Status 1 if something is missing."""
    from karptui.cli.loading import load
    from karptui.session.pool_types import offered_types_of
    from karptui.session.types_of_pools import types_of_pools

    needed = (Kind.NODEPOOL, Kind.NODECLASS, Kind.NODE, Kind.NODECLAIM, Kind.DAEMONSET, Kind.POD)
    if args.pool is None:
        refuse_unused(args, ("ledger", "all", "types"), "needs --pool")
    if args.ledger:
        refuse_unused(args, (*ROW_FLAGS, "all", "types"), "cannot be combined with --ledger, which is about one type")
    loaded = load(args, needed)
    refuse_unseen(loaded, Kind.NODEPOOL)
    pools = types_of_pools(loaded.view)
    if args.pool is None:
        from karptui.views.types.pools import TABLE

        print_rows(rows_of(TABLE, [pool.entry for pool in pools], args, loaded.now_ns), args)
    else:
        _print_pool(item_named("NodePool", args.pool, {pool.name: pool for pool in pools}), args, loaded)
    if args.output not in ("json", "csv"):
        for note in offered_types_of(loaded.view).nodeclasses.notes:
            say(note)
    version = loaded.view.evidence.version_note
    return report(replace(loaded, notes=(*filter(None, (version,)), *loaded.notes)))


def _print_pool(pool: TypesOfPool, args: argparse.Namespace, loaded: Loaded) -> None:
    from karptui.views.types.columns import types_table
    from karptui.views.types.pools import filter_lines, finding_lines, reason_lines, source_lines

    if args.ledger:
        _print_ledger(pool, args, loaded)
        return
    only = frozenset(words(args.types)) if args.types else None
    for name in sorted(only or ()):
        if pool.type(name) is None:
            raise UsageError(f"--types: NodePool {pool.name} has no type {name}")
    types = [entry for entry in (pool.types if args.all or only else pool.wanted) if only is None or entry.name in only]
    table = types_table(pool.name, pool.fit, has_prices=not args.disable_pricing)
    rows = rows_of(table, types, args, loaded.now_ns)
    print_rows(rows, args)
    if args.output in ("table", "wide"):
        view = loaded.view
        summary = (*filter_lines(pool.entry), *reason_lines(pool.entry), *finding_lines(pool.entry))
        print_lines((*summary, *source_lines(pool.entry, view.evidence, view.prices)), is_error=True)


def _print_ledger(pool: TypesOfPool, args: argparse.Namespace, loaded: Loaded) -> None:
    from karptui.views.types.columns import types_table
    from karptui.views.types.ledger import ledger_steps, step_values

    entry = pool.type(args.ledger)
    if entry is None:
        raise UsageError(f"NodePool {pool.name} has no type {args.ledger}")
    if args.output == "json":
        print_json(types_table(pool.name, pool.fit).values(entry, loaded.now_ns))
        return
    if args.output == "csv":
        steps = ledger_steps(entry, pool.fit(entry), loaded.view.evidence.overhead_origin)
        rows = [{"pool": pool.name, "type": entry.name, **step_values(step)} for step in steps]
        print_csv(list(rows[0]), rows, has_header=not args.no_headers)
        return
    _print_ledger_text(pool, entry, args, loaded)


def _print_ledger_text(pool: TypesOfPool, entry: TypeEntry, args: argparse.Namespace, loaded: Loaded) -> None:
    from karptui.views.types.ledger import account_lines, fit_lines, observed_lines, offering_grid, title_pieces
    from karptui.views.types.pools import source_lines

    fit, evidence, skipped = pool.fit(entry), loaded.view.evidence, int(args.no_headers)
    sections = (
        (title_pieces(pool.entry, entry),)[skipped:],
        account_lines(entry, fit, evidence.overhead_origin)[skipped:],
        fit_lines(entry, fit),
        observed_lines(pool.entry, entry),
        source_lines(pool.entry, evidence, loaded.view.prices),
    )
    for section in filter(None, sections[:-1]):
        print_lines((*section, ()))
    grid = offering_grid(entry)
    lines = (("zone", *grid.capacity_types), *((zone, *(square.text for square in row)) for zone, row in grid.rows))
    for texts in lines[skipped:]:
        cells = (f"{text:<{width}}" for text, width in zip(texts, grid.widths, strict=True))
        put(page("  ".join(cells).rstrip()))
    print_lines(((), sections[-1][0]))
