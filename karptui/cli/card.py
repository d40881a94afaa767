"""`karptui card`: a new folder with a cluster's last minutes under pseudonyms, its verdict, and pictures."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from karptui.aws.money import per_hour_text
from karptui.cli.option_values import duration, file_name
from karptui.cli.options import add_cluster_flags, add_price_flags, add_why_flags
from karptui.cli.streams import UsageError, say
from karptui.files import write_file
from karptui.kube.timestamps import format_second
from karptui.views.sanitize import clean

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from karptui.app import KarptuiApp
    from karptui.sources.history.store import Mark
    from karptui.verdict.finding import ClusterFinding

_SIZE: Final = (160, 48)
"""Of the pictures, in cells."""
_PATIENCE_SECONDS: Final = 60.0
"""Longest time that pictures wait for the analysis."""
_LOADED_SECONDS: Final = 3.0
"""Time after which a file is read."""
_MOST_MARKS: Final = 200
_CAUSES: Final = {
    "verdict": "verdict line began",
    "verdict-over": "verdict line ended",
    "disruption": "disruption began",
    "launch-refused": "launch refused",
    "edit": "edited",
    "restart": "Karpenter changed",
    "gap": "nothing recorded before",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", type=file_name,
        help="the new folder (default: karptui-card-TIME here)",
    )  # fmt: skip
    parser.add_argument(
        "--last", metavar="DURATION", type=duration("30m or 2h", least_ns=1), default="30m",
        help="length of history to include (default: 30m)",
    )  # fmt: skip
    add_cluster_flags(parser, takes_several=False, files="")
    add_price_flags(parser)
    add_why_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Write the card. Status 1 if a picture is missing."""
    from karptui.cli.source import local_history

    if args.demo and args.snapshot:
        raise UsageError("--demo and --snapshot cannot be combined")
    if len(args.snapshot or ()) > 1:
        raise UsageError("one history or recording at a time")
    source = Path(args.snapshot[0]) if args.snapshot else local_history(args)
    with _new_folder(args.folder) as folder:
        file = _data(args, source, folder)
        inner = argparse.Namespace(**{**vars(args), "snapshot": [str(file)], "demo": False, "at": None, "now": None})
        findings, problems = _verdict(inner, file, folder)
        problems += _pictures(inner, folder, findings)
    for problem in problems:
        say(problem)
    say(f"{folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
    return 1 if problems else 0


@contextlib.contextmanager
def _new_folder(name: str | None) -> Iterator[Path]:
    """Create a folder that only its owner can read; it is removed again if the card fails.

    Raises:
        UsageError: It exists, or cannot be created.
    """
    from karptui.clock import SystemClock

    stamp = format_second(SystemClock().now_ns()).replace(":", "").rstrip("Z")
    folder = Path(name or f"karptui-card-{stamp}")
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise UsageError(f"{folder}: exists already; a card is written to a new folder") from None
    except OSError as error:
        raise UsageError(f"{folder}: cannot be created: {error.strerror or error}") from None
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _data(args: argparse.Namespace, source: Path, folder: Path) -> Path:
    """Write the redacted history, or the redacted recording, and return its file."""
    from karptui.cli.record import redacted_recording, redactor
    from karptui.sources.history.redacted import write_redacted
    from karptui.sources.history.store import History, is_history
    from karptui.sources.history.writer import HistoryWriter
    from karptui.sources.snapshot.recording import write_recording

    if not is_history(source):
        file = folder / "recording.json.gz"
        write_recording(redacted_recording(args, redactor()), file)
        return file
    file = folder / "history.karptui"
    with contextlib.closing(History(source)) as history:
        newest_ns = history.end_ns()
        to_ns = args.at(newest_ns) if args.at is not None else newest_ns
        write_redacted(history, file, redactor(), to_ns - args.last, to_ns)
    HistoryWriter(file, "").seal()
    return file


def _verdict(inner: argparse.Namespace, file: Path, folder: Path) -> tuple[tuple[ClusterFinding, ...], list[str]]:
    """Write ``verdict.md``, and return the findings and the notes about missing data."""
    from karptui.cli.verdict import analysed_cluster
    from karptui.session.verdict import verdict_of_view
    from karptui.views.verdict.lines import money_text, verdict_values
    from karptui.views.verdict.sentence import pending_reasons

    loaded = analysed_cluster(inner)
    findings = verdict_of_view(loaded.view, loaded.now_ns)
    rows = verdict_values(findings, loaded.now_ns, pending_reasons(loaded.view))
    lines = [f"# karptui: {format_second(loaded.now_ns)}", ""]
    lines += ["Names are pseudonyms. To open the cluster as it was, in this folder:", ""]
    lines += [
        f"    karptui --snapshot {file.name}",
        "",
        "## Verdict",
        "",
        "| | what | since | $/h |",
        "|---|---|---|---|",
    ]
    for row, finding in zip(rows, findings, strict=True):
        text, since = row["text"].replace("|", "\\|"), _instant(finding.since_ns)
        lines.append(f"| {row['severity']} | {text} | {since} | {money_text(finding)} |")
    lines += ["", "## What happened", "", *_happened(file), "", "## What karptui proposes", ""]
    steps = [f"- {row['text']}" for row, finding in zip(rows, findings, strict=True) if str(finding.code) == "NEXT"]
    command = f"karptui remedies --snapshot {shlex.quote(file.name)}"
    lines += [*steps, f"- `{command}` lists remedies for blocked nodes, each simulated.", ""]
    write_file(folder / "verdict.md", "\n".join(lines).encode("utf-8", "replace"), is_private=True)
    return findings, list(loaded.complaints)


def _happened(file: Path) -> Iterator[str]:
    from karptui.session.predictions import shares_of_marks
    from karptui.sources.history.store import History, is_history
    from karptui.views.history import prediction_text

    if not is_history(file):
        yield "A recording holds one moment: what happened before is not known."
        return
    with contextlib.closing(History(file)) as history:
        sessions = history.sessions()
        yield f"From {_instant(sessions[0].from_ns)} to {_instant(sessions[-1].to_ns)}:"
        yield ""
        marks = history.marks(0, sessions[-1].to_ns)
        yield from (clean(f"- {_instant(mark.at_ns)} {_mark_text(mark)}") for mark in marks[-_MOST_MARKS:])
        if len(marks) > _MOST_MARKS:
            yield f"- and {len(marks) - _MOST_MARKS:,} more before"
        if not marks:
            yield "- nothing was noted"
        if accuracy := prediction_text(shares_of_marks(history.predictions(0, sessions[-1].to_ns))):
            yield from ("", f"karptui's {accuracy}.")


def _mark_text(mark: Mark) -> str:
    about = " ".join(filter(None, (mark.object_kind if mark.cause != "launch-refused" else "", mark.name)))
    cost = per_hour_text(mark.cost_per_hour) if mark.cost_per_hour else ""
    rest = ", ".join(filter(None, (mark.text, cost)))
    words = [_CAUSES[mark.cause], mark.code, about, f"({rest})" if rest else ""]
    return " ".join(filter(None, words))


def _instant(instant_ns: int | None) -> str:
    return format_second(instant_ns) if instant_ns else ""


def _pictures(inner: argparse.Namespace, folder: Path, findings: tuple[ClusterFinding, ...]) -> list[str]:
    """Save Nodes, the screen of the worst finding, and Events; return the screens that could not be drawn."""
    import time

    from karptui.app import KarptuiApp
    from karptui.cli.evidence import evidence_source
    from karptui.cli.source import open_source
    from karptui.config import DEFAULTS
    from karptui.screens.registry import ENTRIES

    names = [entry.name for entry in ENTRIES]
    worst = next(
        (
            finding.screen
            for finding in findings
            if finding.screen in names and finding.screen not in ("nodes", "events")
        ),
        "blockers",
    )
    source, clock = open_source(inner)
    app = KarptuiApp(
        source,
        config=DEFAULTS,
        clock=clock,
        evidence_of=lambda of: evidence_source(of, DEFAULTS, inner.karpenter_version or ""),
    )
    drawn: list[str] = []

    async def draw(pilot: Pilot[Any]) -> None:
        until = time.monotonic() + _PATIENCE_SECONDS
        await _wait_until_drawn(app, pilot, until)
        for name in ("nodes", worst, "events"):
            app.open_screen(name)
            await _wait_until_drawn(app, pilot, until)
            svg = app.export_screenshot(title="karptui")
            write_file(folder / f"{name}.svg", svg.encode("utf-8", "replace"), is_private=True)
            drawn.append(name)
        app.exit()

    app.run(headless=True, size=_SIZE, auto_pilot=draw)
    return [f"{name}.svg could not be drawn" for name in ("nodes", worst, "events") if name not in drawn]


async def _wait_until_drawn(app: KarptuiApp, pilot: Pilot[Any], until: float) -> None:
    """Wait until removals, pending pods and advice are worked out, and the screen is drawn."""
    import time

    began = time.monotonic()
    while time.monotonic() < until:
        await pilot.pause(0.2)
        overview = app.session.overview()
        is_analysed = overview.analysed is not None and overview.analysed.is_complete
        # All objects of a file are read at once: a screen that is not ready after some seconds never will be.
        is_hopeless = overview.unready_because and time.monotonic() - began > _LOADED_SECONDS
        if overview.is_out_of_reach or is_hopeless or (is_analysed and app.session.verdict(app.now_ns())):
            break
    await pilot.pause(0.5)
    app.poll_now()
    await pilot.pause(0.2)
