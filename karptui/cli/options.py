"""Flags that several commands share, named as kubectl and eks-node-viewer name them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from karptui.cli.option_values import (
    amount,
    duration,
    file_name,
    identity,
    instant,
    number,
    past_time,
    resources,
    seconds,
    setting,
    version,
    watch_pod,
    words,
)
from karptui.cli.streams import UsageError

if TYPE_CHECKING:
    from karptui.kube.timestamps import PastTime

LIVE_FLAGS: Final = ("context", "kubeconfig", "as_user", "as_group", "request_timeout")
"""Flags of a live cluster, by the names of their values like all of these."""
CLUSTER_FLAGS: Final = (*LIVE_FLAGS, "snapshot", "from_watch", "demo", "now", "at")
"""Flags of ``add_cluster_flags`` that choose the cluster."""
ROW_FLAGS: Final = ("filter", "sort_by")
"""Flags of ``add_row_flags`` that choose and order rows."""
ASKING_FLAGS: Final = ("aws", "aws_profile")
"""Flags about access to AWS, which is used for live clusters only."""
PRICE_FLAGS: Final = (
    "disable_pricing",
    "price_multiplier",
    "node_surcharge_per_hour",
    *ASKING_FLAGS,
    "karpenter_settings",
)
"""Flags of ``add_price_flags``."""
MOST_SIMULATED: Final = 500
"""Size of clusters, in nodes, up to which removals are simulated by default: a few milliseconds each."""

_MOST_SEEDS: Final = 1_000


class TakesArguments(Protocol):
    """A parser, or a group of its flags."""

    def add_argument(self, *names: str, **settings: Any) -> argparse.Action:
        """Add one, as argparse does."""
        ...


_FILES: Final = MappingProxyType(
    {
        "snapshot": "recordings and manifests of one cluster, the same as --snapshot; - is standard input",
        "snapshots": "recordings, one cluster each; - is standard input",
    }
)
"""Help of positional files, by the flag with the same meaning."""
_RECORDING_SUFFIXES: Final = (".json", ".yaml", ".yml", ".gz", ".karptui")
"""Suffixes by which a positional word is a recording and not a name."""


def add_cluster_flags(
    parser: argparse.ArgumentParser, *, takes_several: bool = True, files: str = "snapshot", names: str = ""
) -> None:
    """Add the flags that choose a cluster: a live one, a snapshot or the demo.

    Args:
        takes_several: whether ``--snapshot`` takes several files; not if positional arguments may follow.
        files: meaning of positional words: ``snapshot`` or ``snapshots``; empty for others.
        names: the positional argument before the files, which takes names.
    """
    if files:
        parser.add_argument("files", metavar="FILE", type=file_name, nargs="*", default=[], help=_FILES[files])
        parser.set_defaults(files_flag=files, names=names)
    group = parser.add_argument_group("which cluster")
    group.add_argument("--context", metavar="NAME", help="context of the kubeconfig; its current one by default")
    group.add_argument(
        "--kubeconfig", metavar="FILE", type=file_name, help="kubeconfig; $KUBECONFIG or ~/.kube/config by default"
    )
    group.add_argument("--as", dest="as_user", metavar="USER", type=identity, help="user to impersonate")
    group.add_argument(
        "--as-group",
        metavar="GROUP",
        type=identity,
        action="append",
        default=[],
        help="group to impersonate; repeatable",
    )
    group.add_argument(
        "--request-timeout",
        metavar="SECONDS",
        type=seconds,
        help="timeout of requests to the API server (10s, 2m; default: 1m)",
    )
    group.add_argument(
        "--snapshot",
        metavar="FILE",
        type=file_name,
        nargs="+" if takes_several else None,
        action="extend" if takes_several else "append",
        help="files or directories instead of a cluster; - is standard input"
        + ("" if takes_several else "; repeatable"),
    )
    group.add_argument(
        "--from-watch",
        metavar="NAMESPACE/POD",
        type=watch_pod,
        help="the history of a pod that runs `karptui watch`, copied with kubectl; NAMESPACE/POD:FILE names another"
        " file than /history/cluster.karptui",
    )
    group.add_argument("--demo", action="store_true", help="the built-in demo cluster: no kubeconfig, no cluster")
    group.add_argument(
        "--now",
        metavar="TIME",
        type=instant,
        help="time at which a snapshot is evaluated (RFC 3339; default: when it was taken)",
    )
    group.add_argument(
        "--at",
        metavar="TIME",
        type=past_time,
        help="a past moment, from the cluster's recorded history or the one that --snapshot names:"
        " 14:02 (UTC), -20m or 2026-11-28T14:02:00Z; no connection is made",
    )
    group.add_argument(
        "--karpenter-version",
        metavar="VERSION",
        type=version,
        help="version of Karpenter whose rules decide (1.14.1, 1.15.0; default: the one found)",
    )


def merge_files(args: argparse.Namespace) -> None:
    """Move positional files to the values of ``--snapshot`` or ``--snapshots``."""
    flag, names = getattr(args, "files_flag", ""), getattr(args, "names", "")
    files = list(getattr(args, "files", None) or ())
    if names:
        given = getattr(args, names)
        if isinstance(given, list):
            setattr(args, names, [word for word in given if not is_recording(word)])
            files = [*filter(is_recording, given), *files]
        elif is_recording(given):
            setattr(args, names, None)
            files = [given, *files]
    if files:
        setattr(args, flag, [*(getattr(args, flag) or ()), *files])


def is_recording(word: object) -> bool:
    """Return whether a positional word is a recording and not a name."""
    return isinstance(word, str) and (word == "-" or word.endswith(_RECORDING_SUFFIXES))


def add_contexts_flag(parser: TakesArguments, about: str) -> None:
    parser.add_argument("--contexts", metavar="NAME,NAME|all", type=words, help=about)


def add_snapshots(parser: argparse.ArgumentParser, about: str) -> None:
    parser.add_argument("snapshots", metavar="SNAPSHOT", type=file_name, nargs="*", default=[], help=about)


def add_output_flag(
    parser: TakesArguments, forms: Sequence[str] = ("table", "json", "csv"), *, about: str = ""
) -> None:
    """Add ``-o``.

    Args:
        forms: possible values, beginning with the default.
        about: contents of the forms; may be empty.
    """
    more = f"; {about}" if about else ""
    parser.add_argument(
        "-o", "--output", choices=tuple(forms), default=forms[0], help=f"output format (default: {forms[0]}){more}"
    )


def add_row_flags(
    parser: argparse.ArgumentParser,
    *,
    labels_of: str | None,
    sort_flags: Sequence[str] = (),
    rows: str = "rows",
    filter_example: str = "cpu>80%% age<2h",
    sort_example: str = "age=dsc",
    hold: str = "every column as plain values",
    forms: Sequence[str] = ("table", "wide", "json", "csv"),
) -> None:
    """Add the flags that choose, order and print rows.

    Args:
        labels_of: objects whose labels ``-l`` selects by: ``nodes``; None for rows without labels, which have no
            ``-l``.
        sort_flags: other names of ``--sort-by``.
        hold: contents of JSON and CSV.
    """
    group = parser.add_argument_group(f"{rows} and output")
    parser.set_defaults(selector="")
    if labels_of is not None:
        group.add_argument("-l", "--selector", metavar="K=V", default="", help=f"only {labels_of} with these labels")
    group.add_argument("--filter", metavar="TEXT", default="", help=f"as typed after / in the app: '{filter_example}'")
    group.add_argument(
        "--sort-by",
        *sort_flags,
        dest="sort_by",
        metavar="COLUMN=asc|dsc",
        default="",
        help=f"order, such as {sort_example}",
    )
    add_output_flag(group, forms, about=f"json and csv hold {hold}")
    group.add_argument("--no-headers", action="store_true", help="leave the header out of table and csv")


def add_span_flags(parser: argparse._ActionsContainer, *, since: str | None) -> None:
    """Add the flags that choose a time of a history.

    Args:
        since: default of ``--from``; None if there is none.
    """
    default = f" (default: {since})" if since else ""
    parser.add_argument(
        "--from", dest="since", metavar="TIME", type=past_time, default=since,
        help=f"first moment: 14:02 (UTC), -30m or 2026-11-28T14:02:00Z{default}",
    )  # fmt: skip
    parser.add_argument(
        "--to", dest="until", metavar="TIME", type=_until,
        help="last moment, or now (default: the last recorded one)",
    )  # fmt: skip


def add_step_flag(parser: argparse._ActionsContainer, text: str) -> None:
    form = "5m or 1h (at least a minute, because samples are taken once a minute)"
    parser.add_argument("--step", metavar="DURATION", type=duration(form, least_ns=60 * 10**9), help=text)


def _until(text: str) -> PastTime | None:
    return None if text == "now" else past_time(text)


def add_price_flags(parser: argparse.ArgumentParser, *, applies_to: str = "") -> None:
    """Add the flags that change prices and their sources; settings of the same names are their defaults."""
    group = parser.add_argument_group("prices and instance types", applies_to or None)
    group.add_argument("--disable-pricing", action="store_true", default=None, help="no prices at all")
    group.add_argument(
        "--price-multiplier",
        metavar="X",
        type=amount,
        help="multiply list prices, such as 0.72 for a discount of 28%%",
    )
    group.add_argument(
        "--node-surcharge", dest="node_surcharge_per_hour", metavar="AMOUNT", type=amount,
        help="add this to every node per hour: agents, licences, support",
    )  # fmt: skip
    _add_asking(group)


def add_evidence_flags(parser: argparse.ArgumentParser) -> None:
    """Add those flags of ``add_price_flags`` that say whom to ask and which settings Karpenter has."""
    _add_asking(parser.add_argument_group("prices and instance types"))
    parser.set_defaults(disable_pricing=None, price_multiplier=None, node_surcharge_per_hour=None)


def _add_asking(group: TakesArguments) -> None:
    group.add_argument("--no-aws", dest="aws", action="store_false", default=None, help="send no requests to AWS")
    group.add_argument("--profile", dest="aws_profile", metavar="NAME", help="profile of the AWS configuration")
    group.add_argument(
        "--karpenter-setting", dest="karpenter_settings", metavar="NAME=VALUE", action="append", type=setting,
        help="a Karpenter setting that differs from its default, such as "
        "VM_MEMORY_OVERHEAD_PERCENT=0.05; repeatable",
    )  # fmt: skip


def price_flags(args: argparse.Namespace) -> dict[str, object]:
    """Return the flags of ``add_price_flags`` as settings; None was not given."""
    flags = {
        name: getattr(args, name)
        for name in ("disable_pricing", "price_multiplier", "node_surcharge_per_hour", "aws", "aws_profile")
    }
    pairs = args.karpenter_settings
    return {**flags, "karpenter_settings": dict(pairs) if pairs else None}


def add_usage_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--usage", action="store_true", help="ask metrics-server once for actual usage")


def add_why_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("why nodes are still here")
    group.add_argument(
        "--simulate",
        action=argparse.BooleanOptionalAction,
        default=None,
        help=f"simulate the removal of every node (default: of clusters of up to {MOST_SIMULATED} nodes)",
    )


def add_namespace_flags(parser: TakesArguments, about: str) -> None:
    parser.add_argument("-n", "--namespace", metavar="NAME", help=about)
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="pods of all namespaces, the default")


def add_column_flags(parser: TakesArguments, *, default: tuple[str, ...] | None = None) -> None:
    parser.add_argument(
        "--extra-labels",
        metavar="KEY,KEY",
        type=words,
        default=default,
        help="node labels to show as columns",
    )
    parser.add_argument(
        "--resources",
        metavar="NAME,NAME",
        type=resources,
        default=default,
        help="resources that get a column, extended ones too; cpu,memory,pods",
    )


def add_scenarios_flag(parser: TakesArguments, about: str) -> None:
    """Add ``--scenario`` for the files whose scenarios are answered one after the other."""
    parser.add_argument(
        "--scenario", metavar="FILE", type=file_name, action="append", default=[], help=f"{about}; repeatable"
    )


def add_base_scenario_flag(parser: TakesArguments) -> None:
    """Add ``--scenario`` for edits that are applied before the question."""
    parser.add_argument(
        "--scenario",
        metavar="FILE",
        type=file_name,
        help="edits to apply first, from the first scenario of a file",
    )


def add_replay_flag(parser: TakesArguments, about: str) -> None:
    parser.add_argument("--replay", choices=("pending", "scratch", "remove", "next"), help=about)


def add_manifests_flag(parser: TakesArguments, about: str, *, is_required: bool = False) -> None:
    """Add ``-f`` for manifests that are, or would be, applied; ``about`` is its help."""
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        type=file_name,
        action="append",
        required=is_required,
        default=None if is_required else [],
        help=f"{about}; repeatable",
    )


def add_horizon_flag(parser: TakesArguments, about: str) -> None:
    """Add ``--horizon``; ``about`` is its help, without the default."""
    horizon = duration("90m or 6h (at most 31 days)", least_ns=1, most_ns=31 * 24 * 3600 * 10**9)
    parser.add_argument("--horizon", metavar="DURATION", type=horizon, default="6h", help=f"{about} (default: 6h)")


def add_timeout_flag(parser: TakesArguments, about: str, *, default: str | None = None) -> None:
    parser.add_argument("--timeout", metavar="DURATION", type=seconds, default=default, help=about)


def add_play_flags(parser: TakesArguments, how_far: str, how_often: str) -> None:
    """Add the flags of commands that play clusters forward."""
    add_horizon_flag(parser, how_far)
    parser.add_argument(
        "--seed", metavar="N", type=number(least=0), default=0, help="seed for random choices (default: 0)"
    )
    parser.add_argument("--seeds", metavar="N", type=number(_MOST_SEEDS), default=1, help=f"{how_often} (default: 1)")


def add_allow_actions_flag(parser: TakesArguments) -> None:
    parser.add_argument(
        "--allow-actions",
        action="store_true",
        help="allow changes of the cluster, each confirmed (default: off, unless the configuration allows them)",
    )


def add_workers_flag(parser: TakesArguments, *, default: str = "one") -> None:
    parser.add_argument(
        "--workers",
        metavar="N|ADDRESS",
        help=f"number of processes (default: {default}), or the address of a Dask scheduler, tcp://scheduler:8786"
        " (needs the extra dask)",
    )


def add_study_flags(
    parser: argparse.ArgumentParser,
    *,
    files: str = "snapshot",
    names: str = "",
    rows: str,
    filter_example: str,
    sort_example: str,
) -> None:
    """Add the flags of a command on one cluster: `add_cluster_flags`, `add_price_flags` and `add_row_flags`."""
    add_cluster_flags(parser, takes_several=False, files=files, names=names)
    add_price_flags(parser)
    add_row_flags(
        parser,
        labels_of=None,
        rows=rows,
        filter_example=filter_example,
        sort_example=sort_example,
        forms=("table", "json", "csv"),
    )
    parser.set_defaults(snapshots=[])


def add_many_flags(
    parser: argparse.ArgumentParser, *, names: str = "", rows: str, filter_example: str, sort_example: str
) -> None:
    """Add the flags of a command that looks at one cluster or at several, in one process or in many."""
    add_study_flags(
        parser, files="snapshots", names=names, rows=rows, filter_example=filter_example, sort_example=sort_example
    )
    parser.add_argument(
        "--snapshots",
        metavar="FILE",
        type=file_name,
        nargs="+",
        action="extend",
        default=[],
        help="files or directories, one cluster each",
    )
    add_workers_flag(parser)


def flags_by_value(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the long flag of every value of a parser."""
    return {action.dest: action.option_strings[-1] for action in parser._actions if action.option_strings}  # noqa: SLF001


def cluster_words(args: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """Return the flags with these values as words of a command line, for another process."""
    words: list[str] = []
    for name in names:
        value, flag = getattr(args, name, None), args.flags.get(name, "")
        if not flag or not _is_given(name, value):
            continue
        if isinstance(value, bool):
            words.append(flag)
        for part in value if isinstance(value, list) else () if isinstance(value, bool) else (value,):
            text = "=".join(part) if isinstance(part, tuple) else f"{part:f}s" if name == "request_timeout" else part
            words.append(f"{flag}={text}")
    return words


def refuse_unused(args: argparse.Namespace, names: Iterable[str], because: str) -> None:
    """Refuse flags that would have no effect.

    Args:
        names: names of the flags' values, which are empty by default.
        because: end of the message: ``needs --pool``.

    Raises:
        UsageError: Such a flag is on the command line.
    """
    for name in names:
        if _is_given(name, getattr(args, name, None)):
            raise UsageError(f"{args.flags[name]} {because}")


def _is_given(name: str, value: object) -> bool:
    # ``--no-aws`` sets a value that is None otherwise to false; every other flag that is false was not given.
    return value is not None and value not in ("", []) and (value is not False or name == "aws")


def refuse_live(args: argparse.Namespace) -> None:
    """Refuse flags of a live cluster with ``--demo`` or ``--snapshot``."""
    beside = "--demo" if args.demo else "--snapshot"
    refuse_unused(args, LIVE_FLAGS, f"is about a live cluster: it cannot be combined with {beside}")
