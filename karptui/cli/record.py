"""`karptui record FILE`: a cluster into a file that ``--snapshot`` opens."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from karptui.cli.errors import UsageError, fail, say
from karptui.cli.option_values import target_name
from karptui.cli.options import add_cluster_flags, refuse_live, refuse_unused
from karptui.cli.source import resolve
from karptui.cli.streams import say_progress
from karptui.clock import SystemClock
from karptui.files import read_file, write_file
from karptui.paths import state_dir
from karptui.sources.base import SourceError

if TYPE_CHECKING:
    from karptui.sources.snapshot.redact import Redactor


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_cluster_flags(parser, takes_several=False)
    parser.add_argument(
        "file", metavar="FILE", type=target_name, help="where to; packed when it ends in .gz; - is standard output"
    )
    parser.add_argument("--name", help="what to call the recording; the context or the snapshot's name by default")
    parser.add_argument("--redact", action="store_true", help="replace names by pseudonyms, the same each time")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(args: argparse.Namespace) -> int:
    """Record; 1 where something could not be read."""
    from karptui.sources.snapshot.recording import write_recording

    try:
        document, missing = _document(args)
        if args.file == "-":
            sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
        else:
            size = write_recording(document, Path(args.file), may_replace=args.force)
            count = len(document["objects"])
            say(f"{count:,} objects, {size:,} bytes in {args.file}", "record")
    except (UsageError, SourceError) as error:
        fail(str(error), "record")
    for line in missing:
        say(f"not recorded: {line}", "record")
    return 1 if missing else 0


def _document(args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    redactor = _redactor() if args.redact else None
    if args.snapshot or args.demo:
        return _from_files(args, redactor)
    return _from_cluster(args, redactor)


def _from_files(args: argparse.Namespace, redactor: Redactor | None) -> tuple[dict[str, Any], list[str]]:
    from importlib import resources

    from karptui.sources.snapshot.reader import SnapshotReader
    from karptui.sources.snapshot.recording import build_recording

    if args.snapshot and args.demo:
        raise UsageError("--demo and --snapshot exclude each other")
    refuse_live(args)
    demo = resources.files("karptui.sources.demo").joinpath("recording.json.gz")
    snapshot = SnapshotReader(karpenter_version=args.karpenter_version or "").read(
        args.snapshot or [str(demo)], now_ns=args.now, keeps_manifests=True
    )
    document = build_recording(
        snapshot.manifests.values(),
        name=args.name or snapshot.name,
        captured_at_ns=snapshot.captured_at_ns,
        settings=snapshot.settings.environment,
        instance_types=snapshot.instance_types,
        karpenter_version=snapshot.karpenter_version,
        repair_policies=snapshot.settings.repair_policies,
        reboot_history=snapshot.settings.reboot_history,
        with_disruption=snapshot.with_disruption,
        unread=snapshot.inventory.unread,
        redactor=redactor,
    )
    return document, list(snapshot.problems)


def _from_cluster(args: argparse.Namespace, redactor: Redactor | None) -> tuple[dict[str, Any], list[str]]:
    from karptui.sources.cluster.export import export_cluster
    from karptui.sources.snapshot.recording import build_recording
    from karptui.sources.snapshot.scrub import scrub

    refuse_unused(args, {"now": "--now"}, "needs --snapshot or --demo")
    connection = resolve(args, args.context)
    now_ns = SystemClock().now_ns()
    found = export_cluster(connection, request_seconds=args.request_timeout, keep=scrub, progress=_progress)
    say_progress("")
    for note in found.notes:
        say(note, "record")
    controller = found.controller
    document = build_recording(
        found.objects,
        name=args.name or connection.context,
        captured_at_ns=now_ns,
        settings=controller.settings if controller is not None else {},
        karpenter_version=args.karpenter_version or (controller.version if controller is not None else ""),
        unread=found.unread,
        redactor=redactor,
    )
    return document, found.missing


def _progress(resource: str, count: int) -> None:
    say_progress(f"karptui record: {resource} {count:,}")


def _redactor() -> Redactor:
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
