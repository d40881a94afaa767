"""`karptui rightsize`: nodes and dollars if requests were as VPA, KRR or measured usage recommend."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from msgspec.structs import replace

from karptui.cli.listing import refuse_unsimulated, report, rows_of
from karptui.cli.loading import load
from karptui.cli.many import chosen, print_report, table_lines
from karptui.cli.option_values import file_name, http_url, number, window
from karptui.cli.options import add_play_flags, add_study_flags, add_usage_flag
from karptui.cli.source import history_of
from karptui.cli.streams import UsageError, given_text, put, show_percent, show_progress
from karptui.cli.whatif_scenarios import NamedBase, cluster_name
from karptui.decode.kinds import Kind
from karptui.errors import RequestError
from karptui.sources.source import SourceError
from karptui.views.sanitize import page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from karptui.decode.prometheus import Answer
    from karptui.kube.pod import Pod
    from karptui.kube.vpa import Recommendations, VerticalPodAutoscaler
    from karptui.sources.source import Source

_MOST_BYTES = 64 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--krr", metavar="FILE", type=file_name,
        help="output of krr simple -f json, instead of the cluster's VerticalPodAutoscalers; - is standard input",
    )  # fmt: skip
    source.add_argument(
        "--prometheus", metavar="URL", type=http_url,
        help="use the pods' usage from Prometheus; KARPTUI_PROMETHEUS_TOKEN in the environment is its bearer token",
    )  # fmt: skip
    parser.add_argument(
        "--percentile",
        metavar="N",
        type=number(100),
        help="percentile of cpu usage, from Prometheus or recorded (default 95); for memory the maximum is used",
    )
    parser.add_argument("--window", type=window, help="period of usage, from Prometheus or recorded (default 7d)")
    parser.add_argument("--patch", action="store_true", help="print strategic merge patches as YAML instead")
    add_play_flags(parser, "length of each forecast", "number of seeds from --seed on; the likeliest is shown")
    add_usage_flag(parser)
    add_study_flags(parser, rows="workloads", filter_example="web pods>2", sort_example="pods=dsc")


def run(args: argparse.Namespace) -> int:
    """Print the outcome of all recommendations. Status 1 if something is missing."""
    from karptui.session.prepare import base_of
    from karptui.session.rightsizing import HOURS, PERCENTILE, live_vpas, recommendations_of, recorded_recommendations
    from karptui.studies.rightsize import rightsize, workloads_of
    from karptui.views.column import plain
    from karptui.views.rightsize import REPORT, TABLE, headline, last_lines, more_lines, patches_text

    rows_of(TABLE, (), args, 0)  # refuses a filter or an order before anything is simulated
    is_measured = args.percentile is not None or args.window is not None
    percentile, hours = args.percentile or PERCENTILE, args.window or HOURS
    if args.krr is not None and is_measured:
        raise UsageError("--percentile and --window are for --prometheus and recorded usage, not for --krr")
    krr = _read_krr(args.krr) if args.krr is not None else None
    live: list[VerticalPodAutoscaler] | SourceError = []

    def ask(source: Source) -> None:
        nonlocal live
        live = live_vpas(source)

    needed = (Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODEPOOL, Kind.NODECLASS, Kind.DAEMONSET)
    is_by_vpas = krr is None and args.prometheus is None and not is_measured
    loaded = load(args, needed, asks=ask if is_by_vpas else None)
    refuse_unsimulated(loaded)
    base = base_of(loaded.view, loaded.now_ns)
    used = {key: usage.latest.memory_bytes for key, usage in loaded.view.live_usage.pods.items()}
    workloads = workloads_of(base.inventory)
    if krr is not None:
        recommendations = krr
    elif args.prometheus is not None:
        recommendations, warnings = _of_prometheus(args, workloads, loaded.now_ns, percentile, hours)
        loaded = replace(loaded, complaints=(*loaded.complaints, *warnings))
    elif is_measured:
        path = history_of(args)
        recommendations = recorded_recommendations(path, workloads, loaded.now_ns, percentile=percentile, hours=hours)
    else:
        recommendations = recommendations_of(base.inventory, live, _history_if_any(args), loaded.now_ns)
        if isinstance(live, SourceError):
            loaded = replace(loaded, notes=(*loaded.notes, str(live)))
    answer = rightsize(
        base, recommendations, used, horizon_ns=args.horizon, seed=args.seed, seeds=args.seeds, reporter=show_percent
    )
    rows = chosen(TABLE, answer.sizings, args)
    if args.patch:
        put(page(patches_text(rows.items)), end="")
        return report(loaded)
    return print_report(
        NamedBase(cluster_name(args), base, notes=loaded.notes, complaints=loaded.complaints),
        plain(REPORT, answer),
        ("workloads", rows),
        [headline(answer), *more_lines(answer)],
        table_lines(rows, args),
        last_lines(answer),
        args=args,
    )


def _read_krr(path: str) -> Recommendations:
    from karptui.decode.vpa import read_krr

    try:
        return read_krr(given_text(path, _MOST_BYTES))
    except ValueError as error:
        raise UsageError(f"{'standard input' if path == '-' else path}: {error}") from error


def _of_prometheus(
    args: argparse.Namespace, workloads: Mapping[str, Sequence[Pod]], now_ns: int, percentile: int, hours: int
) -> tuple[Recommendations, tuple[str, ...]]:
    """Return recommendations by usage, and sentences about incomplete answers."""
    import os

    from karptui.decode.prometheus import PrometheusError, of_usage, queries
    from karptui.sources.cluster.errors import one_line
    from karptui.sources.prometheus import TOKEN_VARIABLE, Prometheus

    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(f"{TOKEN_VARIABLE} is no bearer token: it has spaces or other than printable ASCII characters")
    answers: dict[str, Answer] = {}
    try:
        server = Prometheus(args.prometheus, token)
        for name, expression in queries(percentile, hours).items():
            show_progress(f"asking Prometheus, {len(answers) + 1} of 3")
            answers[name] = server.query(expression, now_ns)
        recommendations = of_usage(answers, workloads, percentile=percentile, hours=hours, now_ns=now_ns)
    except PrometheusError as error:
        raise UsageError(f"{args.prometheus} {error}") from None
    warnings = dict.fromkeys(one_line(warning) for answer in answers.values() for warning in answer.warnings)
    return recommendations, tuple(
        f"Prometheus warns that its answer may be incomplete: {warning}" for warning in warnings
    )


def _history_if_any(args: argparse.Namespace) -> Path | None:
    try:
        return history_of(args)
    except RequestError:
        return None
