"""`karptui rightsize`: nodes and dollars if requests were as VPA or KRR recommend."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from karptui.cli.errors import UsageError, fail, show_progress
from karptui.cli.listing import report, rows_of, versions_json
from karptui.cli.loading import load
from karptui.cli.many import chosen, print_document, table_lines
from karptui.cli.option_values import file_name
from karptui.cli.options import add_play_flags, add_study_flags, add_usage_flag
from karptui.cli.streams import given_text, put
from karptui.decode.kinds import Kind
from karptui.views.sanitize import page

if TYPE_CHECKING:
    from karptui.kube.vpa import Recommendations, VerticalPodAutoscaler
    from karptui.sources.source import Source

_MOST_BYTES = 64 << 20
_VPAS = "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--krr", metavar="FILE", type=file_name,
        help="what krr simple -f json printed, instead of the cluster's VerticalPodAutoscalers; - is standard input",
    )  # fmt: skip
    parser.add_argument("--patch", action="store_true", help="print strategic merge patches as YAML instead")
    add_play_flags(parser, "length of each forecast", "number of seeds from --seed on; the likeliest is shown")
    add_usage_flag(parser)
    add_study_flags(parser, rows="workloads", filter_example="web pods>2", sort_example="pods=dsc")


def run(args: argparse.Namespace) -> int:
    """Print the outcome of all recommendations. Status 1 if something is missing."""
    from karptui.kube.vpa import of_vpas
    from karptui.kube.yaml_text import to_yaml
    from karptui.plan.rightsize import RightSizeError, rightsize
    from karptui.session.prepare import base_of
    from karptui.views.column import plain
    from karptui.views.rightsize import REPORT, TABLE, last_lines, patch_of, text_lines

    rows_of(TABLE, (), args, 0)  # refuses a filter or an order before anything is simulated
    given = _read_krr(args.krr) if args.krr is not None else None
    live: list[VerticalPodAutoscaler] = []
    needed = (Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODEPOOL, Kind.NODECLASS, Kind.DAEMONSET)
    loaded = load(args, needed, asks=lambda source: live.extend(live_vpas(source)) if given is None else None)
    base = base_of(loaded.view, loaded.now_ns)
    used = {key: one.latest.memory_bytes for key, one in loaded.view.live_usage.pods.items()}
    recommendations = given if given is not None else of_vpas((*base.inventory.vpas, *live))
    try:
        answer = rightsize(
            base, recommendations, used, horizon_ns=args.horizon, seed=args.seed, seeds=args.seeds,
            reporter=lambda done, total: show_progress(f"{done} of {total} seconds played"),
        )  # fmt: skip
    except RightSizeError as error:
        fail(f"{error}: VerticalPodAutoscalers with a status, or --krr FILE, are needed")
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
