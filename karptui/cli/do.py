"""`karptui do`: change an object, or try the change out on the server, which is the default."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from karptui.actions.action import KINDS_OF, MOST_REPLICAS, Action, ActionError, Operation, action_on, applied, named
from karptui.cli.evidence import await_prices, configuration, evidence_for
from karptui.cli.option_values import number, seconds
from karptui.cli.options import (
    add_allow_actions_flag,
    add_cluster_flags,
    add_horizon_flag,
    add_manifests_flag,
    add_price_flags,
    refuse_unused,
)
from karptui.cli.source import open_source
from karptui.cli.streams import UsageError, put, say
from karptui.kube.units import verb
from karptui.views.sanitize import clean

if TYPE_CHECKING:
    from karptui.cli.loading import Following
    from karptui.session.actions import Actions, Preview
    from karptui.session.cluster_view import ClusterView
    from karptui.studies.actions import Expected

_LOOK_SECONDS: Final = 0.1
_HORIZON_NS: Final = 3600 * 10**9


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", choices=tuple(map(str, Operation)), help=", ".join(Operation))
    parser.add_argument(
        "objects",
        metavar="OBJECT",
        nargs="*",
        default=[],
        help="NAME of a node or NodeClaim, NAMESPACE/NAME of a pod, deployment/NAMESPACE/NAME, pod/NAMESPACE/NAME",
    )
    group = parser.add_argument_group("the action")
    group.add_argument(
        "--replicas", metavar="N", type=number(MOST_REPLICAS, least=0), help="number of replicas, for scale"
    )
    group.add_argument("--value", metavar="TEXT", help="true, or for pods a duration such as 30m, for do-not-disrupt")
    add_manifests_flag(group, "manifests of NodePools, EC2NodeClasses and NodeOverlays, for apply; - for stdin")
    add_allow_actions_flag(group)
    group.add_argument(
        "--dry-run",
        choices=("server",),
        help="let the server check the request and change nothing: the default, without --yes",
    )
    group.add_argument("--yes", action="store_true", help="carry it out")
    group.add_argument("--reason", metavar="TEXT", default="", help="reason for the audit file; needed with --yes")
    group.add_argument(
        "--confirm",
        metavar="NAME",
        action="append",
        default=[],
        help="name of an object that is removed or scaled down; needed for each with --yes; repeatable",
    )
    group.add_argument(
        "--wait", metavar="DURATION", type=seconds, default=30.0, help="how long to watch the outcome (default: 30s)"
    )
    add_horizon_flag(group, "length of the forecast")
    parser.set_defaults(horizon=_HORIZON_NS)
    add_cluster_flags(parser, takes_several=False, files="")
    add_price_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Show or carry out actions. Status 1 if the server refuses one, or the outcome is not known."""
    from karptui.cli.loading import Following
    from karptui.session.actions import open_actions

    _check(args)
    actions = tuple({(action.target.kind, action.target.key): action for action in _actions(args)}.values())
    config = configuration(args)
    source, clock = open_source(args)
    opened = open_actions(
        source,
        config,
        is_asked=args.allow_actions,
        is_past=args.at is not None,
        request_seconds=args.request_timeout,
    )
    try:
        with closing(opened):
            return _Run(args, opened, Following(source), clock).run(actions)
    finally:
        source.stop()


def _check(args: argparse.Namespace) -> None:
    """Refuse flags that do not go together."""
    operation = Operation(args.action)
    for name, operations in (
        ("replicas", (Operation.SCALE,)),
        ("filename", (Operation.APPLY,)),
        ("value", (Operation.DO_NOT_DISRUPT,)),
    ):
        if operation not in operations:
            refuse_unused(args, (name,), f"is for {' and '.join(operations)}")
    if args.yes and args.dry_run:
        raise UsageError("--yes and --dry-run cannot be combined")
    if args.yes and not args.reason.strip():
        raise UsageError("--yes needs --reason TEXT, which is kept in the audit file")
    if operation is Operation.SCALE and args.replicas is None:
        raise UsageError("scale needs --replicas N")
    if operation is Operation.APPLY and (args.objects or not args.filename):
        raise UsageError("apply takes its objects from -f FILE")
    if operation is not Operation.APPLY and not args.objects:
        raise UsageError(f"{operation} needs an object, such as {KINDS_OF[operation][0].lower()}/NAME")


def _actions(args: argparse.Namespace) -> Iterator[Action]:
    operation = Operation(args.action)
    if operation is Operation.APPLY:
        yield from _applied(args.filename)
        return
    for word in args.objects:
        kind, key = named(operation, word)
        yield action_on(operation, kind, key, value=args.value or "true", replicas=args.replicas)


def _applied(files: Sequence[str]) -> Iterator[Action]:
    from karptui.cli.plan import read_manifests
    from karptui.kube.yaml_reader import YamlError, load_documents

    for name, text in read_manifests(files):
        try:
            documents = load_documents(text.encode())
        except YamlError as error:
            raise UsageError(f"{name}: {error}") from error
        for document in documents:
            if not isinstance(document, dict):
                raise UsageError(f"{name}: holds a document that is no object")
            try:
                yield applied(document)
            except ActionError as error:
                raise UsageError(f"{name}: {error}") from error


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        put(clean(line, limit=2_500))


class _Run:
    def __init__(self, args: argparse.Namespace, actions: Actions, following: Following, clock: Any) -> None:
        self._args = args
        self._actions = actions
        self._following = following
        self._clock = clock
        self._evidence = evidence_for(args, following.source)

    def run(self, actions: Sequence[Action]) -> int:
        """Preview the actions, and with ``--yes`` carry them out."""
        self._read()
        previews = self._actions.previews(actions)
        self._print_previews(previews)
        expected = self._expect(previews)
        ready = [preview for preview in previews if preview.is_ready]
        is_refused = any(preview.problem or preview.missing for preview in previews)
        if not self._args.yes:
            if ready and not is_refused:
                say("nothing was changed; --yes --reason TEXT carries it out")
            return 1 if is_refused else 0
        if is_refused:
            say("nothing was changed: the server would refuse a part of it")
            return 1
        self._check_confirmed(ready)
        return self._carry_out(ready, expected)

    def _read(self) -> None:
        from karptui.cli.loading import PATIENCE_SECONDS
        from karptui.decode.kinds import Kind
        from karptui.session.readiness import ASKED_BY_ENGINES

        awaited = (*ASKED_BY_ENGINES, Kind.EVENT)
        self._following.settle((Kind.NODE, Kind.POD), PATIENCE_SECONDS, awaited=awaited)
        state = self._following.state
        await_prices(self._evidence, state.nodes.values(), state.nodeclasses.values())

    def _view(self) -> ClusterView:
        from karptui.session.cluster_view import ClusterView
        from karptui.session.refusals import with_refusals

        state, now_ns = self._following.state, self._clock.now_ns()
        statuses = {str(kind): status for kind, status in self._following.statuses.items()}
        return ClusterView(state, statuses, evidence=with_refusals(self._evidence.latest(), state, now_ns))

    def _print_previews(self, previews: Sequence[Preview]) -> None:
        from karptui.views.actions import preview_lines

        _print(line for preview in previews for line in preview_lines(preview))

    def _expect(self, previews: Sequence[Preview]) -> Expected | None:
        """Print the forecast, or the reason why there is none."""
        from karptui.session.prepare import base_of
        from karptui.session.readiness import unready_because
        from karptui.studies.actions import expected
        from karptui.views.actions import expected_lines
        from karptui.whatif.edits import EditError

        changes = [(preview.action, preview.after) for preview in previews if preview.is_ready]
        if not changes:
            return None
        view = self._view()
        reason = unready_because(view)
        forecast: Expected | None = None
        if not reason:
            try:
                base = base_of(view, self._clock.now_ns())
                forecast = expected(base, changes, horizon_ns=self._args.horizon)
            except EditError as error:
                reason = str(error)
        if forecast is None:
            say(f"no forecast: {reason}")
            return None
        _print(("expected, by karptui's simulation", *expected_lines(forecast)))
        return forecast

    def _check_confirmed(self, ready: Sequence[Preview]) -> None:
        names = dict.fromkeys(preview.action.target.name for preview in ready if preview.removes)
        if missing := [f"--confirm {name}" for name in names if name not in self._args.confirm]:
            needed = f"{' '.join(missing)} {verb(len(missing), 'is', 'are')} needed as well"
            raise UsageError(f"it removes something: {needed}; nothing was changed")

    def _carry_out(self, ready: Sequence[Preview], expected: Expected | None) -> int:
        from karptui.actions.audit_record import Result
        from karptui.views.actions import outcome_lines

        done: list[Preview] = []
        began = time.monotonic()
        is_good = True
        for preview, outcome in self._actions.carry_out(ready, self._args.reason.strip()):
            _print(outcome_lines(preview, outcome))
            if outcome.result is Result.DONE:
                done.append(preview)
            is_good = is_good and outcome.result is Result.DONE and not outcome.audit_problem
        left = len(ready) - len(done) - (not is_good)
        if left > 0:
            say(f"stopped there: {left} of {len(ready)} were not tried")
        if done:
            self._watch(done, expected, began)
        return 0 if is_good else 1

    def _watch(self, done: Sequence[Preview], expected: Expected | None, began: float) -> None:
        """Print the prediction next to the outcome, once the watch shows it, or after a time."""
        from karptui.session.actions import is_shown
        from karptui.session.prepare import base_of
        from karptui.studies.actions import moment_of
        from karptui.views.actions import comparison_lines

        # A removal goes on for a while after the watch shows its beginning.
        lasts = any(preview.removes for preview in done)
        while True:
            self._following.update(_LOOK_SECONDS)
            shown = sum(is_shown(preview, self._following.state) for preview in done)
            passed = time.monotonic() - began
            if passed > self._args.wait or (shown == len(done) and not lasts):
                break
            time.sleep(_LOOK_SECONDS)
        seen = moment_of(base_of(self._view(), self._clock.now_ns()))
        then = expected.plan.edited.moment_at(self._clock.now_ns()) if expected is not None else None
        _print(comparison_lines(then, seen, passed, shown, len(done)))
