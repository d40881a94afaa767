"""Flags that several commands share, named as kubectl and eks-node-viewer name them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol

from karptui.cli.errors import UsageError
from karptui.cli.option_values import (
    amount,
    file_name,
    horizon,
    identity,
    instant,
    number,
    seconds,
    seed,
    setting,
    version,
    words,
)

LIVE_FLAGS: Final = MappingProxyType(
    {
        "context": "--context",
        "kubeconfig": "--kubeconfig",
        "as_user": "--as",
        "as_group": "--as-group",
        "request_timeout": "--request-timeout",
    }
)
"""Flags of a live cluster by the names of their values."""
CLUSTER_FLAGS: Final = MappingProxyType({**LIVE_FLAGS, "snapshot": "--snapshot", "demo": "--demo", "now": "--now"})
"""All flags of ``add_cluster_flags`` likewise."""
ROW_FLAGS: Final = MappingProxyType({"filter": "--filter", "sort_by": "--sort-by"})
"""Flags of ``add_row_flags`` that choose and order rows, likewise."""
PRICE_FLAGS: Final = MappingProxyType(
    {
        "disable_pricing": "--disable-pricing",
        "price_multiplier": "--price-multiplier",
        "node_surcharge_per_hour": "--node-surcharge",
        "aws": "--no-aws",
        "aws_profile": "--profile",
        "karpenter_settings": "--karpenter-setting",
    }
)
"""Flags of ``add_price_flags`` by the names of their values."""
ASKING_FLAGS: Final = MappingProxyType({name: PRICE_FLAGS[name] for name in ("aws", "aws_profile")})
"""Those about whether and as whom AWS is asked, which happens for a live cluster only."""
MOST_SIMULATED: Final = 500
"""Nodes up to which removals are simulated without being asked for: a few milliseconds each."""

_MOST_SEEDS: Final = 1_000


class TakesArguments(Protocol):
    """A parser, or a group of its flags."""

    def add_argument(self, *names: str, **settings: Any) -> argparse.Action:
        """Add one, as argparse does."""
        ...


_FILES: Final = MappingProxyType(
    {
        "snapshot": "recordings and manifests of one cluster, the same as --snapshot; - is standard input",
        "snapshots": "recordings, each of a cluster of its own; - is standard input",
    }
)
"""What the words without a flag are, by the flag that means the same."""
_RECORDING_SUFFIXES: Final = (".json", ".yaml", ".yml", ".gz")
"""How a word ends that is a recording where names may stand as well."""


def add_cluster_flags(
    parser: argparse.ArgumentParser, *, takes_several: bool = True, files: str = "snapshot", names: str = ""
) -> None:
    """Add the flags that say which cluster: a live one, a snapshot or the demo.

    Args:
        parser: the command's.
        takes_several: whether ``--snapshot`` takes several files; not where arguments without a flag may follow.
        files: what words without a flag stand for: ``snapshot`` or ``snapshots``; empty where they are something else.
        names: the argument that takes names in front of the files.
    """
    if files:
        parser.add_argument("files", metavar="FILE", type=file_name, nargs="*", help=_FILES[files])
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
        help="how long the API server may be silent (10s, 2m; default: 1m)",
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
    group.add_argument("--demo", action="store_true", help="the built-in demo cluster: no kubeconfig, no cluster")
    group.add_argument(
        "--now",
        metavar="TIME",
        type=instant,
        help="moment to look at a snapshot from (RFC 3339; default: when it was taken)",
    )
    group.add_argument(
        "--karpenter-version",
        metavar="VERSION",
        type=version,
        help="version of Karpenter whose rules decide (1.14.1, 1.15.0; default: the one found)",
    )


def merge_files(args: argparse.Namespace) -> None:
    """Move files that stand by themselves to where ``--snapshot`` or ``--snapshots`` put theirs."""
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
    """Return whether a word is a recording, where names may stand as well."""
    return isinstance(word, str) and (word == "-" or word.endswith(_RECORDING_SUFFIXES))


def add_snapshots(parser: argparse.ArgumentParser, about: str) -> None:
    """Add the snapshots that a command reads in place of a cluster.

    Args:
        parser: Gets them.
        about: Their help.
    """
    parser.add_argument("snapshots", metavar="SNAPSHOT", type=file_name, nargs="*", help=about)


def add_output_flag(
    parser: TakesArguments, forms: Sequence[str] = ("table", "json", "csv"), *, about: str = ""
) -> None:
    """Add ``-o``.

    Args:
        parser: the command's, or a group of its flags.
        forms: what it can be, beginning with the default.
        about: what the forms hold, in words; nothing where that goes without saying.
    """
    more = f"; {about}" if about else ""
    parser.add_argument(
        "-o", "--output", choices=tuple(forms), default=forms[0], help=f"form of the answer (default: {forms[0]}){more}"
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
    """Add what chooses, orders and prints rows.

    Args:
        parser: the command's.
        labels_of: whose labels ``-l`` looks at: ``nodes``; None for rows without labels, which have no ``-l``.
        sort_flags: other names of ``--sort-by``.
        rows: what the rows are called.
        filter_example: a filter that makes sense there.
        sort_example: an order that does.
        hold: what JSON and CSV hold.
        forms: of ``-o``.
    """
    group = parser.add_argument_group(f"which {rows}, and how")
    parser.set_defaults(selector="")
    if labels_of is not None:
        group.add_argument("-l", "--selector", metavar="K=V", default="", help=f"only {labels_of} with these labels")
    group.add_argument("--filter", metavar="TEXT", default="", help=f"as typed behind / in the app: '{filter_example}'")
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


def add_price_flags(parser: argparse.ArgumentParser, *, applies_to: str = "") -> None:
    """Add what changes prices and who is asked for them; the settings of the same names are their defaults.

    Args:
        parser: the command's.
        applies_to: which part of the command follows them, in a sentence; empty for all of it.
    """
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
    group.add_argument("--no-aws", dest="aws", action="store_false", default=None, help="ask AWS nothing")
    group.add_argument("--profile", dest="aws_profile", metavar="NAME", help="profile of the AWS configuration")
    group.add_argument(
        "--karpenter-setting", dest="karpenter_settings", metavar="NAME=VALUE", action="append", type=setting,
        help="one of Karpenter's own settings where it differs from the default, such as "
        "VM_MEMORY_OVERHEAD_PERCENT=0.05; repeatable",
    )  # fmt: skip


def price_flags(args: argparse.Namespace) -> dict[str, object]:
    """Return the flags of ``add_price_flags`` as settings; None was not given."""
    given = {
        name: getattr(args, name)
        for name in ("disable_pricing", "price_multiplier", "node_surcharge_per_hour", "aws", "aws_profile")
    }
    pairs = args.karpenter_settings
    return {**given, "karpenter_settings": dict(pairs) if pairs else None}


def add_usage_flag(parser: argparse.ArgumentParser) -> None:
    """Add what asks metrics-server."""
    parser.add_argument("--usage", action="store_true", help="ask metrics-server once for what is really used")


def add_why_flags(parser: argparse.ArgumentParser) -> None:
    """Add what decides how much is worked out."""
    group = parser.add_argument_group("why nodes are still here")
    group.add_argument(
        "--simulate",
        action=argparse.BooleanOptionalAction,
        default=None,
        help=f"simulate the removal of every node (default: of clusters of up to {MOST_SIMULATED} nodes)",
    )


def add_namespace_flags(parser: TakesArguments, about: str) -> None:
    """Add what chooses the namespace of pods.

    Args:
        parser: the command's, or a group of its flags.
        about: the help of ``-n``.
    """
    parser.add_argument("-n", "--namespace", metavar="NAME", help=about)
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="pods of every namespace, as by default")


def add_column_flags(parser: TakesArguments, *, default: tuple[str, ...] | None = None) -> None:
    """Add what gives nodes more columns, or others.

    Args:
        parser: the command's, or a group of its flags.
        default: what holds where nothing is given.
    """
    parser.add_argument(
        "--extra-labels",
        metavar="KEY,KEY",
        type=words,
        default=default,
        help="node labels that get a column of their own",
    )
    parser.add_argument(
        "--resources",
        metavar="NAME,NAME",
        type=words,
        default=default,
        help="resources that get a column, extended ones too; cpu,memory,pods",
    )


def add_scenarios_flag(parser: TakesArguments, about: str) -> None:
    """Add ``--scenario`` for the files whose scenarios are answered one after the other.

    Args:
        parser: the command's, or a group of its flags.
        about: its help.
    """
    parser.add_argument(
        "--scenario", metavar="FILE", type=file_name, action="append", default=[], help=f"{about}; repeatable"
    )


def add_base_scenario_flag(parser: TakesArguments) -> None:
    """Add ``--scenario`` for the one whose edits are made before anything is asked."""
    parser.add_argument(
        "--scenario",
        metavar="FILE",
        type=file_name,
        help="edits that are made before: those of the first scenario of a file",
    )


def add_replay_flag(parser: TakesArguments, about: str) -> None:
    """Add ``--replay``; ``about`` is its help."""
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
    parser.add_argument("--horizon", metavar="DURATION", type=horizon, default="6h", help=f"{about} (default: 6h)")


def add_play_flags(parser: TakesArguments, how_far: str, how_often: str) -> None:
    """Add the flags of commands that play clusters forward.

    Args:
        parser: the command's.
        how_far: the help of ``--horizon``, without the default.
        how_often: that of ``--seeds``.
    """
    add_horizon_flag(parser, how_far)
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="decides what is left to chance (default: 0)")
    parser.add_argument("--seeds", metavar="N", type=number(_MOST_SEEDS), default=1, help=f"{how_often} (default: 1)")


def add_workers_flag(parser: TakesArguments, *, default: str = "this one alone") -> None:
    """Add ``--workers``; ``default`` is said of it."""
    parser.add_argument(
        "--workers",
        metavar="N|ADDRESS",
        help=f"processes to work in (default: {default}), or the address of a Dask scheduler, tcp://scheduler:8786"
        " (pip install 'karptui[dask]')",
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
    """Add the flags of a command that looks at one cluster: those of `add_cluster_flags` and `add_row_flags`."""
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
        help="files or directories, each a snapshot of a cluster of its own",
    )
    add_workers_flag(parser)


def given(args: argparse.Namespace, flags: Mapping[str, str]) -> list[str]:
    """Return which of the flags stand on the command line.

    Args:
        args: what was parsed.
        flags: by the name of the value, whose default is nothing.
    """
    return [flag for name, flag in flags.items() if _is_given(name, getattr(args, name, None))]


def _is_given(name: str, value: object) -> bool:
    # ``--no-aws`` sets what is None otherwise to false; every other flag that is false was not given.
    return value is not None and value not in ("", []) and (value is not False or name == "aws")


def refuse_unused(args: argparse.Namespace, flags: Mapping[str, str], because: str) -> None:
    """Refuse flags that would have no effect.

    Args:
        args: what was parsed.
        flags: by the name of the value.
        because: what is said behind the first that was given: ``goes with --pool``.

    Raises:
        UsageError: where one was given.
    """
    found = given(args, flags)
    if found:
        raise UsageError(f"{found[0]} {because}")


def refuse_live(args: argparse.Namespace) -> None:
    """Refuse flags of a live cluster beside ``--demo`` or ``--snapshot``, which take its place.

    Raises:
        UsageError: where one was given.
    """
    beside = "--demo" if args.demo else "--snapshot"
    refuse_unused(args, LIVE_FLAGS, f"is about a live cluster: it does not go with {beside}; leave one of them out")
