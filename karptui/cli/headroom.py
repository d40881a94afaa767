"""`karptui headroom`: how many more of a pod fit, until a node is needed and until limits stop it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from karptui.cli.listing import json_text
from karptui.cli.many import StudyAnswer, assumption_lines, blocks, chosen, run_study, table_lines, written
from karptui.cli.option_values import file_name, number
from karptui.cli.options import add_many_flags, is_recording
from karptui.cli.streams import UsageError, given_text
from karptui.kube.quantity import QuantityError, parse_quantity
from karptui.kube.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from karptui.whatif.edits import ObjectRef, PutObject

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.provisioning.reporter import Each, Reporter
    from karptui.studies.headroom import Headroom
    from karptui.views.table import Rows

_MOST_BYTES: Final = 1 << 20
_LARGEST: Final = 20_000
_EFFECTS: Final = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "of",
        metavar="KIND/NAMESPACE/NAME",
        nargs="?",
        type=_reference,
        help="a pod, a workload whose pod is added, or NodePool/NAME for workloads on its new nodes"
        " (default: every workload, the fewest first)",
    )
    parser.add_argument(
        "-f", "--filename", metavar="FILE", type=file_name, help="a manifest of a Pod or workload instead; - is stdin"
    )
    parser.add_argument(
        "--requests", metavar="NAME=AMOUNT", type=_requests, help="requests of a hypothetical pod: cpu=500m,memory=1Gi"
    )
    parser.add_argument(
        "--node-selector",
        metavar="LABEL=VALUE",
        action="append",
        type=_label,
        default=[],
        help="a node label that the pod of --requests selects; repeatable",
    )
    parser.add_argument(
        "--toleration",
        metavar="KEY[=VALUE][:EFFECT]",
        action="append",
        type=_toleration,
        default=[],
        help="a taint that the pod of --requests tolerates, in the format of kubectl taint; repeatable",
    )
    parser.add_argument(
        "--most",
        metavar="N",
        type=number(_LARGEST),
        help="number of pods to try (default: --at-least, but no fewer than 1000)",
    )
    parser.add_argument(
        "--at-least",
        metavar="N",
        type=number(_LARGEST),
        default=0,
        help="exit with status 3 if fewer fit, new nodes included",
    )
    add_many_flags(parser, names="of", rows="workloads", filter_example="limit<5", sort_example="fit=asc")


def _reference(text: str) -> tuple[str, str, str] | str:
    if is_recording(text):
        return text
    parts = tuple(text.split("/"))
    if len(parts) == 2 and parts[0] == "NodePool":
        parts = parts[0], "", parts[1]
    elif len(parts) != 3 or not all(parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not KIND/NAMESPACE/NAME, such as Deployment/web/front")
    return parts[0], parts[1], parts[2]


def _requests(text: str) -> dict[str, str]:
    requests: dict[str, str] = {}
    for part in text.split(","):
        name, _, amount = part.partition("=")
        try:
            parse_quantity(amount)
        except QuantityError:
            amount = ""
        if not name or not amount:
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=AMOUNT, such as cpu=500m,memory=1Gi")
        requests[name] = amount
    return requests


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not LABEL=VALUE, such as topology.kubernetes.io/zone=us-east-1a")
    return key, value


def _toleration(text: str) -> dict[str, str]:
    rest, _, effect = text.partition(":")
    key, equals, value = rest.partition("=")
    if not key or effect not in ("", *_EFFECTS):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY[=VALUE][:EFFECT], such as dedicated=ml:NoSchedule")
    matches = {"operator": "Equal", "value": value} if equals else {"operator": "Exists"}
    return {"key": key, **matches, **({"effect": effect} if effect else {})}


def run(args: argparse.Namespace) -> int:
    """Print the headroom. Status 1 if something is missing, 3 if fewer pods fit than asked."""
    if sum(map(bool, (args.of, args.filename, args.requests))) > 1:
        raise UsageError("name one pod: by KIND/NAMESPACE/NAME, -f or --requests")
    if (args.node_selector or args.toleration) and not args.requests:
        raise UsageError("--node-selector and --toleration are of the pod of --requests")
    if args.most and args.at_least > args.most:
        raise UsageError("--at-least asks for more than --most tries")
    samples = _named_pod(args)
    from karptui.views.headroom import TABLE

    return run_study(args, _room, (samples, args), TABLE)


def _room(named: NamedBase, arguments: Any, each: Each, reporter: Reporter) -> StudyAnswer:
    from karptui.studies.headroom import MOST, headroom, headrooms_of
    from karptui.studies.pod_trial import sample_of_manifest
    from karptui.views import headroom as views

    (edit, ref), args = arguments
    base = named.base
    assert base is not None
    most = args.most or max(MOST, args.at_least)
    if edit is None:
        rooms = headrooms_of(base, ref, most=most, reporter=reporter, each=each)
    else:
        rooms = (headroom(base, sample_of_manifest(base, edit, ref), most=most, reporter=reporter, each=each),)
    rows = chosen(views.TABLE, rooms, args)
    few = [headroom for headroom in rooms if _fitting(headroom, ref) < args.at_least]
    return StudyAnswer(
        written(rows, args),
        tuple(_lines(named.name, rooms, rows, ref, args)),
        tuple(f"--at-least {args.at_least}: {room.sample.name}: {_fitting(room, ref):,} fit" for room in few),
    )


def _named_pod(args: argparse.Namespace) -> tuple[PutObject | None, ObjectRef | None]:
    """Return the named pod, with the edit that adds it; neither without a name.

    Raises:
        RequestError: A manifest is unreadable.
    """
    from karptui.whatif.manifests import manifests_of

    if args.of:
        kind, namespace, name = args.of
        return None, ObjectRef(kind, name, namespace)
    if args.requests:
        spec = {
            "containers": [{"name": "main", "resources": {"requests": args.requests}}],
            "nodeSelector": dict(args.node_selector),
            "tolerations": args.toleration,
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "headroom", "namespace": "default"}}
        return PutObject(json_text({**pod, "spec": spec})), ObjectRef("Pod", "headroom")
    if not args.filename:
        return None, None
    manifests = manifests_of([(args.filename, given_text(args.filename, _MOST_BYTES))])
    if len(manifests.edits) != 1:
        raise UsageError(f"{args.filename}: has {len(manifests.edits)} objects that create pods; one is needed")
    kind, _, key = manifests.names[0].partition("/")
    namespace, _, name = key.rpartition("/")
    return manifests.edits[0], ObjectRef(kind, name, namespace)


def _fitting(headroom: Headroom, ref: ObjectRef | None) -> int:
    """Return the headroom on new nodes of the named NodePool, else in all."""
    return headroom.pools[0].pods if ref is not None and ref.kind == "NodePool" else headroom.total


def _lines(
    name: str, headrooms: Sequence[Headroom], rows: Rows[Headroom], ref: ObjectRef | None, args: Any
) -> Iterator[str]:
    from karptui.views import headroom as views
    from karptui.views.table import Rows

    assumed = [line for room in headrooms[:1] for line in assumption_lines(room.assumed)]
    if ref is not None and ref.kind == "NodePool":
        lines = (f"  {line}" for line in views.pool_lines(ref.name, headrooms))
        table = table_lines(chosen(views.POOL_TABLE, rows.items, args), args)
        return blocks([f"{name}: {views.pool_overview(ref.name, headrooms)}", *lines], table, assumed)
    if ref is None:
        hints = [
            f"karptui headroom {first.sample.name} shows one workload, with each NodePool" for first in headrooms[:1]
        ]
        return blocks([f"{name}: {views.overview(headrooms)}"], table_lines(rows, args), assumed, hints)
    (headroom,) = headrooms
    asks = f"  each requests {views.requests_text(headroom)}"
    limits = (f"  {views.limits_text(room.pool_name, room.limits)}" for room in headroom.pools if room.limits)
    return blocks(
        [f"{name}: {views.headline(headroom)}", asks, *(f"  {line}" for line in views.more_lines(headroom))],
        table_lines(Rows(views.POOLS_TABLE, headroom.pools, total=len(headroom.pools), now_ns=0), args),
        [*limits, *assumed],
    )
