"""`karptui rightsize`: nodes and dollars if requests were as VPA, KRR or measured usage recommend."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from karptui.cli.errors import UsageError, fail, show_progress
from karptui.cli.listing import report, rows_of, versions_json
from karptui.cli.loading import load
from karptui.cli.many import chosen, print_document, table_lines
from karptui.cli.option_values import file_name, http_url, number, window
from karptui.cli.options import add_play_flags, add_study_flags, add_usage_flag
from karptui.cli.streams import given_text, put
from karptui.decode.kinds import Kind
from karptui.views.sanitize import page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from karptui.decode.prometheus import Answer
    from karptui.kube.pod import Pod
    from karptui.kube.vpa import Recommendations, VerticalPodAutoscaler
    from karptui.sources.source import Source

_MOST_BYTES = 64 << 20
_VPAS = "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--krr", metavar="FILE", type=file_name,
        help="what krr simple -f json printed, instead of the cluster's VerticalPodAutoscalers; - is standard input",
    )  # fmt: skip
    source.add_argument(
        "--prometheus", metavar="URL", type=http_url,
        help="usage that Prometheus has of the pods; the environment's KARPTUI_PROMETHEUS_TOKEN is its bearer token",
    )  # fmt: skip
    parser.add_argument(
        "--percentile",
        metavar="N",
        type=number(100),
        help="of cpu, with --prometheus (default 95); memory is the highest",
    )
    parser.add_argument("--window", type=window, help="length of usage to ask Prometheus for (default 7d)")
    parser.add_argument("--patch", action="store_true", help="print strategic merge patches as YAML instead")
    add_play_flags(parser, "length of each forecast", "number of seeds from --seed on; the likeliest is shown")
    add_usage_flag(parser)
    add_study_flags(parser, rows="workloads", filter_example="web pods>2", sort_example="pods=dsc")


def run(args: argparse.Namespace) -> int:
    """Print the outcome of all recommendations. Status 1 if something is missing."""
    from msgspec.structs import replace

    from karptui.kube.vpa import of_vpas
    from karptui.kube.yaml_text import to_yaml
    from karptui.plan.rightsize import RightSizeError, rightsize, workloads_of
    from karptui.session.prepare import base_of
    from karptui.views.column import plain
    from karptui.views.rightsize import REPORT, TABLE, last_lines, patch_of, text_lines

    rows_of(TABLE, (), args, 0)  # refuses a filter or an order before anything is simulated
    if args.prometheus is None and (args.percentile is not None or args.window is not None):
        raise UsageError("--percentile and --window are for --prometheus")
    given = _read_krr(args.krr) if args.krr is not None else None
    asks_vpas = given is None and args.prometheus is None
    live: list[VerticalPodAutoscaler] = []
    needed = (Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODEPOOL, Kind.NODECLASS, Kind.DAEMONSET)
    loaded = load(args, needed, asks=lambda source: live.extend(live_vpas(source)) if asks_vpas else None)
    base = base_of(loaded.view, loaded.now_ns)
    used = {key: one.latest.memory_bytes for key, one in loaded.view.live_usage.pods.items()}
    if args.prometheus is not None:
        given, warnings = _of_prometheus(args, workloads_of(base.inventory), loaded.now_ns)
        loaded = replace(loaded, complaints=(*loaded.complaints, *warnings))
    recommendations = given if given is not None else of_vpas((*base.inventory.vpas, *live))
    try:
        answer = rightsize(
            base, recommendations, used, horizon_ns=args.horizon, seed=args.seed, seeds=args.seeds,
            reporter=lambda done, total: show_progress(f"{done} of {total} seconds played"),
        )  # fmt: skip
    except RightSizeError as error:
        fail(f"{error}: VerticalPodAutoscalers with a status, --krr FILE or --prometheus URL are needed")
    name = "demo" if args.demo else " ".join(args.snapshot or ()) or args.context or "cluster"
    rows = chosen(TABLE, answer.sizings, args)
    if args.patch:
        patches = [patch for one in rows.items if (patch := patch_of(one)) is not None]
        put(page("---\n".join(map(to_yaml, patches)) or "# nothing changes\n"), end="")
        return report(loaded)
    lines = (*text_lines(name, answer), "", *table_lines(rows, args), "", *last_lines(answer))
    versions = versions_json(base.karpenter_version, base.settings.rules.version)
    print_document({"name": name, **plain(REPORT, answer)}, ("workloads", rows), versions, lines, args)
    return report(loaded)


def _read_krr(path: str) -> Recommendations:
    from karptui.decode.vpa import read_krr

    try:
        return read_krr(given_text(path, _MOST_BYTES))
    except ValueError as error:
        raise UsageError(f"{'standard input' if path == '-' else path}: {error}") from error


def _of_prometheus(
    args: argparse.Namespace, workloads: Mapping[str, Sequence[Pod]], now_ns: int
) -> tuple[Recommendations, tuple[str, ...]]:
    """Return recommendations by usage, and sentences about incomplete answers."""
    import os

    from karptui.decode.prometheus import PrometheusError, of_usage, queries
    from karptui.sources.cluster.errors import one_line
    from karptui.sources.prometheus import TOKEN_VARIABLE, Prometheus
    from karptui.sources.source import SourceError

    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(f"{TOKEN_VARIABLE} is no bearer token: it has spaces or other than printable ASCII characters")
    percentile, hours = args.percentile or 95, args.window or 7 * 24
    answers: dict[str, Answer] = {}
    try:
        server = Prometheus(args.prometheus, token)
        for name, expression in queries(percentile, hours).items():
            show_progress(f"asking Prometheus, {len(answers) + 1} of 3")
            answers[name] = server.query(expression, now_ns)
        found = of_usage(answers, workloads, percentile=percentile, hours=hours, now_ns=now_ns)
    except SourceError as error:
        raise UsageError(str(error)) from None
    except PrometheusError as error:
        raise UsageError(f"{args.prometheus} {error}") from None
    warnings = dict.fromkeys(one_line(warning) for answer in answers.values() for warning in answer.warnings)
    return found, tuple(f"Prometheus warns that its answer may be incomplete: {warning}" for warning in warnings)


def live_vpas(source: Source) -> list[VerticalPodAutoscaler]:
    """Return the VerticalPodAutoscalers of a live cluster; a snapshot's are among its objects.

    Raises:
        UsageError: They may not be listed.
    """
    import msgspec

    from karptui.decode.errors import DecodeError
    from karptui.decode.reader import KindReader
    from karptui.sources.cluster.errors import ApiError
    from karptui.sources.cluster.source import ClusterSource
    from karptui.sources.source import SourceError

    if not isinstance(source, ClusterSource):
        return []
    try:
        items = msgspec.json.decode(source.get(_VPAS), type=dict[str, msgspec.Raw]).get("items", msgspec.Raw(b"[]"))
        return [KindReader(Kind.VPA).decode(item) for item in msgspec.json.decode(items, type=list[msgspec.Raw])]
    except ApiError as error:
        if error.status == 404:
            return []  # not installed
        raise UsageError(f"verticalpodautoscalers cannot be listed: {error}") from error
    except (SourceError, DecodeError, msgspec.DecodeError) as error:
        raise UsageError(f"verticalpodautoscalers cannot be read: {error}") from error
