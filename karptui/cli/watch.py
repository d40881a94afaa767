"""`karptui watch`: follows a cluster without a screen, records its history, and prints how its verdict changes."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from karptui import __version__
from karptui.cli import heartbeat
from karptui.cli.evidence import configuration, evidence_source
from karptui.cli.option_values import address, amount, file_name
from karptui.cli.options import add_cluster_flags, add_output_flag, add_price_flags
from karptui.cli.source import history_tap, open_source
from karptui.cli.streams import UsageError, put, say
from karptui.kube.timestamps import format_second
from karptui.views.sanitize import page

if TYPE_CHECKING:
    from karptui.cli.metrics_server import MetricsServer
    from karptui.config import Config
    from karptui.session.cluster_view import ClusterView
    from karptui.session.history_marks import OpenFinding
    from karptui.session.watch import Verdict, Watch
    from karptui.sources.history.store import Mark
    from karptui.sources.history.tap import HistoryTap
    from karptui.views.metrics import Metric, Values

STEP_SECONDS: Final = 0.5
_PASSING: Final = frozenset({"connection", "data", "analysis"})
"""Troubles that may end."""
_OPENING_SECONDS: Final = 20.0
"""Longest wait until the history's file is open."""
_CLOSING_SECONDS: Final = 20.0
"""Longest wait until all changes are written; Kubernetes kills a container 30 s after it asks it to end."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_output_flag(parser, ("text", "json"), about="json is one object a line")
    group = parser.add_argument_group("what is recorded")
    group.add_argument("--history", metavar="FILE", type=file_name, help="file of the history instead of the usual one")
    group.add_argument("--days", metavar="N", type=amount, help="days that are kept (default: history_days)")
    group.add_argument("--megabytes", metavar="N", type=amount, help="size that is kept (default: history_megabytes)")
    parser.add_argument(
        "--metrics",
        metavar="[HOST]:PORT",
        type=address,
        help="serve /metrics for Prometheus, and /healthz, on this address (HOST is 127.0.0.1 by default)",
    )
    add_cluster_flags(parser, files="")
    add_price_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Follow the cluster until SIGINT or SIGTERM.

    Returns:
        1 if the history can no longer be recorded and no metrics are served.
    """
    if args.snapshot or args.at is not None:
        raise UsageError("--snapshot and --at show one moment: karptui watch follows a live cluster or the demo")
    from karptui.session.throttle import share_heaps

    share_heaps()
    with _until_signalled() as ended:
        heartbeat.stop()
        return _Command(args, ended).run()


class _Command:
    def __init__(self, args: argparse.Namespace, ended: threading.Event) -> None:
        from karptui.serving.keeper import Keeper
        from karptui.session.follower import ClusterFollower
        from karptui.session.watch import Watch

        self._args, self._ended = args, ended
        self._config: Config = _limited(configuration(args), args)
        if not self._config.history and args.metrics is None:
            raise UsageError("history is turned off in the configuration: there is nothing to do without --metrics")
        source, self._clock = open_source(args)
        path = Path(args.history) if args.history else None
        self._tap: HistoryTap | None = history_tap(source, self._config, self._clock, path)
        evidence = evidence_source(source, self._config, args.karpenter_version or "")
        self._watch: Watch = Watch(ClusterFollower(source, evidence=evidence, tap=self._tap), self._clock)
        self._keeper = Keeper(self._tap) if self._tap is not None else None
        self._kept: ClusterView | None = None
        """The last view that the keeper saw."""
        self._open: tuple[OpenFinding, ...] = ()
        self._is_first = True
        """Whether the next verdict is the first: when its problems began is not known."""
        self._reported: set[str] = set()
        self._values: dict[Metric, Values] = {}

    def run(self) -> int:
        """Follow the cluster; everything is written on return."""
        follower = self._watch.follower
        server = None
        try:
            self._open_history()
            server = self._serve()
            self._announce(server)
            follower.start()
            if follower.failure:
                raise UsageError(follower.failure)
            return self._follow()
        finally:
            follower.stop()
            if self._tap is not None:
                self._tap.stop(_CLOSING_SECONDS)
            if server is not None:
                server.stop()

    def _open_history(self) -> None:
        """Begin to record, and wait until that has succeeded or failed."""
        tap, follower = self._tap, self._watch.follower
        if tap is None:
            if self._config.history:
                self._complain("the history's folder cannot be made")
            return
        tap.start(lambda: (follower.view.evidence, follower.view.live_usage))
        for _ in range(int(_OPENING_SECONDS / 0.02)):
            if tap.is_recording or tap.trouble or self._ended.wait(0.02):
                break
        if tap.trouble:
            self._complain(tap.trouble)

    def _complain(self, trouble: str) -> None:
        """Report that nothing is recorded; an error unless metrics are served."""
        if self._args.metrics is None:
            raise UsageError(trouble)
        say(f"{trouble}; only metrics are served")
        self._reported.add(trouble)

    def _serve(self) -> MetricsServer | None:
        if self._args.metrics is None:
            return None
        from karptui.cli.metrics_server import MetricsServer
        from karptui.session.watch import unhealthy_because

        host, port = self._args.metrics
        try:
            return MetricsServer(
                host, port, self._metrics, lambda: unhealthy_because(self._watch, self._clock.now_ns())
            )
        except OSError as error:
            raise UsageError(f"--metrics: {host}:{port} cannot be listened on: {error.strerror or error}") from None

    def _announce(self, server: MetricsServer | None) -> None:
        if self._tap is not None and not self._tap.trouble:
            limits = f"{self._config.history_days:g} days, {self._config.history_megabytes:,g} MB"
            records = f"records {self._tap.path} (at most {limits})"
        else:
            records = "records nothing"
        serves = f", serves metrics on port {server.port}" if server is not None else ""
        title, now = self._watch.follower.title, format_second(self._clock.now_ns())
        if self._args.output == "json":
            path = str(self._tap.path) if self._tap is not None and not self._tap.trouble else None
            _print(json.dumps({"event": "starts", "time": now, "cluster": title, "history": path}))
        else:
            _print(f"{now} {title}: {records}{serves}")

    def _follow(self) -> int:
        while not self._ended.wait(STEP_SECONDS):
            verdict = self._watch.step()
            self._keep(verdict)
            if verdict is not None:
                self._judged(verdict)
            if not self._is_worth_following():
                return 1
        return 0

    def _keep(self, verdict: Verdict | None) -> None:
        """Have the history remember what happened, and the figures of NodePools."""
        view = self._watch.follower.view
        if self._keeper is not None and (verdict is not None or view is not self._kept):
            self._kept = view
            self._keeper.saw(view, verdict.findings if verdict is not None else (), self._clock.now_ns())

    def _is_worth_following(self) -> bool:
        """Report new troubles, each once; return whether there is still something to do."""
        from karptui.session.watch import losses_of

        follower = self._watch.follower
        troubles = {
            **dict(losses_of(follower.view)),
            "data": follower.trouble,
            "analysis": follower.analyst.failure,
        }
        for key, message in troubles.items():
            if message and key not in self._reported:
                say(message)
        # A repeated loss is reported again.
        self._reported = {key for key, message in troubles.items() if message} | (self._reported - _PASSING)
        trouble = self._tap.trouble if self._tap is not None else ""
        if trouble and trouble not in self._reported:
            say(f"the history is no longer recorded: {trouble}")
            self._reported.add(trouble)
            return self._args.metrics is not None
        return True

    def _judged(self, verdict: Verdict) -> None:
        """Print the problems that begin and end, as the history marks them."""
        from karptui.session.history_marks import verdict_marks
        from karptui.session.watch import problems_of
        from karptui.views.metrics import verdict_metrics
        from karptui.views.verdict.sentence import pending_reasons, sentence

        now_ns, reasons = verdict.now_ns, pending_reasons(verdict.view)
        self._open, marks = verdict_marks(
            self._open, verdict.findings, now_ns, lambda finding: sentence(finding, now_ns, reasons)
        )
        if self._args.metrics is not None:
            self._values = verdict_metrics(verdict.view, problems_of(verdict.findings), now_ns)
        for mark in marks:
            self._print_mark(mark)
        self._is_first = False

    def _print_mark(self, mark: Mark) -> None:
        from karptui.aws.money import per_hour_text
        from karptui.session.history_marks import VERDICT

        begins = "present" if self._is_first else "begins"
        event = begins if mark.cause == VERDICT else "ends"
        if self._args.output == "json":
            _print(
                json.dumps(
                    {
                        "event": event,
                        "time": format_second(mark.at_ns),
                        "severity": mark.severity,
                        "code": mark.code,
                        "text": mark.text,
                        "pricePerHour": mark.cost_per_hour,
                    }
                )
            )
        else:
            cost = f"  {per_hour_text(mark.cost_per_hour, 'USD')}" if mark.cost_per_hour else ""
            _print(f"{format_second(mark.at_ns)} {mark.severity} {event}: {mark.text}{cost}")

    def _metrics(self) -> dict[Metric, Values]:
        """Return the metrics of this moment; called in the threads of the server."""
        from karptui.views.metrics import BUILD, HISTORY_SIZE, RECORDING, ages

        watch, tap = self._watch, self._tap
        size = sum(_sizes(tap.path)) if tap is not None else 0
        return {
            **self._values,
            **ages(watch.follower.view, watch.merged_ns, self._clock.now_ns()),
            HISTORY_SIZE: {(): float(size)} if size else {},
            RECORDING: {(): float(tap is not None and tap.is_recording)},
            BUILD: {(__version__,): 1.0},
        }


def _limited(config: Config, args: argparse.Namespace) -> Config:
    limits = {"history_days": args.days, "history_megabytes": args.megabytes}
    if args.history:
        limits["history"] = True
    return replace(config, **{name: value for name, value in limits.items() if value is not None})


def _sizes(path: Path) -> Iterator[int]:
    for file in (path, path.with_name(f"{path.name}-wal")):
        with contextlib.suppress(OSError):
            yield file.stat().st_size


def _print(line: str) -> None:
    put(page(line))
    sys.stdout.flush()


@contextlib.contextmanager
def _until_signalled() -> Iterator[threading.Event]:
    """Set the event on an interrupt or a request to end, instead of ending the process."""
    signals = (signal.SIGINT, signal.SIGTERM)
    ended = threading.Event()
    before: list[Any] = [signal.signal(number, lambda *_: ended.set()) for number in signals]
    try:
        yield ended
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
