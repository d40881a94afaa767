"""Actions on the cluster of a source: preview them on the server, then carry them out unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from karptui.actions.action import (
    ANNOTATIONS,
    Action,
    Document,
    Operation,
    Target,
    is_in_effect,
    removes,
    replicas_of,
    undo_of,
)
from karptui.actions.audit_record import Outcome, Result
from karptui.actions.request import Autoscaler, Request, managers_of, request_of
from karptui.changes.fields import FieldChange, field_changes, fields_of
from karptui.config import Config
from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.kube.generated_names import written_owner
from karptui.kube.gitops import GitOpsOwner, gitops_owner
from karptui.kube.objects import controller_of
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS
from karptui.paths import audit_file
from karptui.sources.actions.audit import AuditError, AuditFile, shortened
from karptui.sources.actions.demo import DemoServer
from karptui.sources.actions.guard import permit_for
from karptui.sources.actions.permit import NotAllowedError
from karptui.sources.actions.writer import Writer
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.demo.source import DemoSource
from karptui.sources.source import Source, SourceError, kept_as
from karptui.state.cluster import ClusterState

if TYPE_CHECKING:
    from karptui.sources.actions.writer import ActionServer


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """An action before it is carried out."""

    action: Action
    request: Request | None = None
    """The request that would carry it out."""
    after: Document | None = None
    """The object after the server's dry run."""
    diff: tuple[FieldChange, ...] = ()
    uid: str = ""
    undo: Action | None = None
    removes: bool = False
    """Whether it needs the object's name typed."""
    managers: tuple[str, ...] = ()
    """Other field managers of the fields that it changes."""
    owner: GitOpsOwner | None = None
    """What applies the object from Git."""
    autoscalers: tuple[Autoscaler, ...] | None = None
    """HorizontalPodAutoscalers of a workload that is scaled; None if they cannot be read."""
    is_in_effect: bool = False
    """Whether the object is so already."""
    problem: str = ""
    """Why it cannot be carried out, in the server's words; empty if it can."""
    missing: str = ""
    status: int = 0
    """HTTP status of the server's refusal."""
    causes: tuple[tuple[str, str], ...] = ()
    """Fields and messages of the refusal."""

    @property
    def is_ready(self) -> bool:
        """Whether it can be carried out."""
        return not (self.problem or self.missing or self.is_in_effect)


class Actions:
    """Previews actions and carries them out; every method may take as long as the server does."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def previews(self, actions: Sequence[Action]) -> tuple[Preview, ...]:
        """Return the server's answer to a dry run of each action.

        Raises:
            NotAllowedError: there are more than the configuration allows at once.
        """
        self._check_number(actions)
        return tuple(map(self._preview, actions))

    def carry_out(self, previews: Sequence[Preview], reason: str) -> Iterator[tuple[Preview, Outcome]]:
        """Carry out previewed actions one after the other, up to the first failure."""
        self._check_number(previews)
        for preview in previews:
            outcome = self._carried_out(preview, reason)
            yield preview, outcome
            if outcome.result is not Result.DONE or outcome.audit_problem:
                return

    def close(self) -> None:
        """Close the connection."""
        self._writer.server.close()

    def _check_number(self, actions: Sequence[object]) -> None:
        most = self._writer.permit.most_objects
        if len(actions) > most:
            raise NotAllowedError(f"{len(actions)} objects are more than {most} at once (max_action_objects)")

    def _preview(self, action: Action) -> Preview:
        try:
            missing = self._writer.missing(action)
            if missing:
                return Preview(action=action, missing=missing)
            live = self._writer.look(action)
        except SourceError as error:
            return _refused(action, error)
        if live is None:
            return Preview(action=action, problem="it does not exist", status=404)
        metadata = live.get("metadata") or {}
        shown = Preview(
            action=action,
            request=request_of(action, live, is_dry_run=False),
            uid=str(metadata.get("uid") or ""),
            removes=removes(action, live),
            managers=managers_of(action, live),
            owner=_git_owner(action, metadata),
            autoscalers=self._writer.autoscalers(action) if action.operation is Operation.SCALE else None,
            is_in_effect=is_in_effect(action, live),
        )
        if shown.is_in_effect:
            return shown
        try:
            after = self._writer.try_out(action, live)
        except SourceError as error:
            refused = _refused(action, error)
            return msgspec.structs.replace(
                shown, problem=refused.problem, status=refused.status, causes=refused.causes
            )  # fmt: skip
        diff = _diff(action, live, after)
        is_idle = action.operation is Operation.APPLY and not diff
        return msgspec.structs.replace(
            shown, after=after, diff=diff, undo=undo_of(action, live, after), is_in_effect=is_idle
        )

    def _carried_out(self, preview: Preview, reason: str) -> Outcome:
        """Carry out an action if a new dry run changes the same fields as the preview."""
        action = preview.action
        try:
            live = self._writer.look(action)
            if live is None or (live.get("metadata") or {}).get("uid") != preview.uid:
                return Outcome(result=Result.FAILED, message="the object was replaced or deleted since it was shown")
            after = self._writer.try_out(action, live)
            diff = _diff(action, live, after)
            if diff != preview.diff:
                return Outcome(result=Result.FAILED, message="the object has changed since it was shown: check again")
            recorded = shortened((change.path, change.before, change.after) for change in diff)
            return self._writer.carry_out(action, live, after, reason=reason, diff=recorded)
        except ApiError as error:
            return Outcome(result=Result.REFUSED, status=error.status, message=error.message, causes=error.causes)
        except AuditError as error:
            return Outcome(result=Result.FAILED, message=f"{error}; nothing was sent")
        except SourceError as error:
            return Outcome(result=Result.FAILED, message=f"{error}; nothing was sent")


def open_actions(
    source: Source,
    config: Config,
    *,
    is_asked: bool,
    is_past: bool = False,
    request_seconds: float | None = None,
) -> Actions:
    """Open the actions on a source's cluster, by the rules of the configuration.

    Raises:
        NotAllowedError: actions are not allowed here, or the audit file has no folder.
    """
    settings = config.context(source.title)
    permit = permit_for(
        source, settings, most_objects=config.max_action_objects, is_asked=is_asked, is_past=is_past
    )  # fmt: skip
    try:
        audit = AuditFile(audit_file())
    except OSError as error:
        raise NotAllowedError(f"the audit file has no folder: {error.strerror or error}") from error
    server: ActionServer
    if isinstance(source, ClusterSource):
        from karptui.sources.actions.writer import LiveServer  # noqa: PLC0415 - imports the official client

        server = LiveServer(source.connection, request_seconds=request_seconds)
    else:
        assert isinstance(source, DemoSource)
        server = DemoServer(source)
    return Actions(Writer(permit, server, audit))


def _refused(action: Action, error: SourceError) -> Preview:
    if isinstance(error, ApiError):
        return Preview(action=action, problem=error.message, status=error.status, causes=error.causes)
    return Preview(action=action, problem=str(error))


def _diff(action: Action, live: Document, after: Document) -> tuple[FieldChange, ...]:
    """Return the fields that an action changes; none if it removes the object."""
    match action.operation:
        case Operation.DELETE | Operation.EVICT:
            return ()
        case Operation.SCALE:
            return field_changes({"spec.replicas": replicas_of(live)}, {"spec.replicas": replicas_of(after)})
    return field_changes(fields_of(live), fields_of(after))


def _git_owner(action: Action, metadata: Document) -> GitOpsOwner | None:
    managers = [str(entry.get("manager")) for entry in metadata.get("managedFields") or ()]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return gitops_owner(action.target.kind, action.target.name, labels, annotations, managers)


def is_shown(preview: Preview, state: ClusterState) -> bool:
    """Return whether a state of the cluster shows that an action has taken effect."""
    action, target = preview.action, preview.action.target
    if action.operation is Operation.SCALE:
        return sum(map(partial(_is_pod_of, target), state.pods.values())) == action.replicas
    kind = kept_as(target.kind)
    item = state.of(kind).get(target.key if kind is not Kind.NODECLASS else f"{target.kind}/{target.key}")
    if action.operation in (Operation.DELETE, Operation.EVICT):
        return item is None or item.deletion_ns != ABSENT_NS or item.uid != preview.uid
    if item is None:
        return False
    if action.operation in ANNOTATIONS:
        return is_in_effect(action, {"metadata": {"annotations": item.annotations}})
    if action.operation is not Operation.APPLY:
        return is_in_effect(action, {"spec": {"unschedulable": item.is_unschedulable}})
    after = preview.after or {}
    if raw := getattr(item, "raw", None):
        return is_in_effect(action, raw, after=after)
    stored = KindReader(kind, api_version=str(after.get("apiVersion")), api_kind=target.kind).convert(after)
    fields = set(stored.__struct_fields__) - {"conditions", "generation"}
    return all(getattr(item, field) == getattr(stored, field) for field in fields)


def _is_pod_of(target: Target, pod: Pod) -> bool:
    owner = controller_of(pod.owners)
    if owner is None or pod.namespace != target.namespace or not pod.is_active:
        return False
    return (target.kind, target.name) in ((owner.kind, owner.name), written_owner(owner.kind, owner.name, pod.labels))
