"""`karptui record FILE`: a cluster into a file that ``--snapshot`` opens."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karptui.cli.listing import json_text
from karptui.cli.option_values import target_name
from karptui.cli.options import add_cluster_flags, add_evidence_flags, refuse_live
from karptui.cli.source import check_times, local_history, read_snapshot, resolve
from karptui.cli.streams import UsageError, put, say, show_progress
from karptui.clock import FrozenClock, SystemClock
from karptui.decode.kinds import Kind, kind_of
from karptui.files import read_file, write_file
from karptui.paths import state_dir

if TYPE_CHECKING:
    from karptui.aws.evidence import Evidence
    from karptui.karpenter.inventory import Inventory
    from karptui.kube.usage import LiveUsage
    from karptui.sources.snapshot.redact import Redactor


def configure(parser: argparse.ArgumentParser) -> None:
    add_cluster_flags(parser, takes_several=False, files="")
    add_evidence_flags(parser)
    parser.add_argument(
        "file",
        metavar="FILE",
        type=target_name,
        help="the file to write, compressed if it ends in .gz; - is standard output",
    )
    parser.add_argument("--name", help="name of the recording (default: the context, or the snapshot's name)")
    parser.add_argument("--redact", action="store_true", help="replace names by pseudonyms, the same each time")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(args: argparse.Namespace) -> int:
    """Record a cluster. Status 1 if something could not be read."""
    from karptui.sources.snapshot.recording import write_recording

    document, missing = _document(args)
    if args.file == "-":
        put(json_text(document))
    else:
        size = write_recording(document, Path(args.file), may_replace=args.force)
        count = len(document["objects"])
        say(f"{count:,} objects, {size:,} bytes in {args.file}")
    for line in missing:
        say(f"not recorded: {line}")
    return 1 if missing else 0


def _document(args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    pseudonyms = redactor() if args.redact else None
    if args.snapshot and args.demo:
        raise UsageError("--demo and --snapshot cannot be combined")
    check_times(args)
    if args.snapshot or args.demo:
        refuse_live(args)
    if args.snapshot or args.at is not None:
        return _from_files(args, pseudonyms)
    return _from_demo(args, pseudonyms) if args.demo else _from_cluster(args, pseudonyms)


def redacted_recording(args: argparse.Namespace, pseudonyms: Redactor) -> dict[str, Any]:
    """Return the recording of files with pseudonyms."""
    args.name = None
    return _from_files(args, pseudonyms)[0]


def _from_files(args: argparse.Namespace, redactor: Redactor | None) -> tuple[dict[str, Any], list[str]]:
    from karptui.cli.evidence import evidence_for
    from karptui.sources.snapshot.recording import build_recording
    from karptui.sources.snapshot.source import SnapshotSource

    snapshot = read_snapshot(args, args.snapshot or [local_history(args)])
    document = build_recording(
        snapshot.objects(),
        name=args.name or snapshot.name,
        captured_at_ns=snapshot.captured_at_ns,
        evidence=evidence_for(args, SnapshotSource(snapshot)).latest(),
        live_usage=snapshot.live_usage,
        with_disruption=snapshot.with_disruption,
        unread=snapshot.inventory.unread,
        redactor=redactor,
    )
    return document, list(snapshot.problems)


def _from_demo(args: argparse.Namespace, redactor: Redactor | None) -> tuple[dict[str, Any], list[str]]:
    from karptui.cli.evidence import evidence_for, measure
    from karptui.sources.demo.source import DemoSource
    from karptui.sources.snapshot.recording import build_recording
    from karptui.sources.source import Mailbox

    demo = DemoSource(clock=FrozenClock(SystemClock().now_ns()), is_stepped=True)
    demo.start(Mailbox())
    evidence = evidence_for(args, demo)
    evidence.start()
    document = build_recording(
        demo.manifests(),
        name=args.name or demo.title,
        captured_at_ns=demo.clock.now_ns(),
        evidence=evidence.latest(),
        live_usage=measure(demo),
        redactor=redactor,
    )
    return document, []


def _from_cluster(args: argparse.Namespace, redactor: Redactor | None) -> tuple[dict[str, Any], list[str]]:
    from karptui.cli.evidence import await_prices, configuration, live_evidence
    from karptui.sources.cluster.collection import export_cluster
    from karptui.sources.cluster.credentials import credentials_for
    from karptui.sources.cluster.transport import READ_SECONDS, Transport
    from karptui.sources.snapshot.recording import build_recording
    from karptui.sources.snapshot.scrub import scrub
    from karptui.sources.usage import UsageSource

    connection, config = resolve(args, args.context), configuration(args)
    now_ns = SystemClock().now_ns()
    read_seconds = args.request_timeout or READ_SECONDS
    transport = Transport(connection, credentials_for(connection), read_seconds=read_seconds)
    try:
        exported = export_cluster(transport, keep=scrub, progress=_progress)
        source = live_evidence(transport, config, args.karpenter_version or "")
        inventory = _inventory_of(exported.objects, (Kind.NODE, Kind.NODECLASS))
        await_prices(source, inventory.nodes, inventory.nodeclasses)
        evidence = source.latest()
        usage = UsageSource(transport)
        usage.want()
        usage.step()
    finally:
        transport.close()
    for note in _not_answered(evidence, usage.latest()):
        say(note)
    document = build_recording(
        exported.objects,
        name=args.name or connection.context,
        captured_at_ns=now_ns,
        evidence=evidence,
        live_usage=usage.latest(),
        unread=exported.unread,
        redactor=redactor,
    )
    return document, exported.missing


def _inventory_of(objects: Sequence[Mapping[str, Any]], kinds: Sequence[Kind]) -> Inventory:
    """Return the objects of some kinds, without unreadable ones."""
    from karptui.sources.snapshot.objects import Manifest, ObjectPile

    pile = ObjectPile()
    for document in objects:
        if kind_of(document["apiVersion"], document["kind"]) in kinds:
            pile.add(Manifest(document, ""), "", has_defaults=True)
    return pile.inventory()


def _not_answered(evidence: Evidence, usage: LiveUsage) -> list[str]:
    """Return a message for each other source that did not answer, or not completely."""
    statuses = (evidence.controller_status, evidence.metrics_status, *evidence.fact_statuses.values())
    sentences = [status.sentence for status in statuses if status is not None]
    return [*dict.fromkeys(filter(None, (*sentences, usage.sentence)))]


def _progress(resource: str, count: int) -> None:
    show_progress(f"{resource} {count:,}")


def redactor() -> Redactor:
    """Return a redactor whose key is made once per user, so that recordings can be compared with each other."""
    from karptui.sources.snapshot.redact import Redactor

    try:
        file = state_dir() / "redact.key"
        if not file.exists():
            write_file(file, secrets.token_bytes(32), is_private=True)
        return Redactor(read_file(file, 1 << 10))
    except OSError as error:
        where = error.filename or "karptui's state folder"
        raise UsageError(f"the key for pseudonyms cannot be kept in {where}: {error.strerror}") from None
