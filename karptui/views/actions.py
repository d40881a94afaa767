"""Actions: their table, their texts, and the table of the audit file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from karptui.actions.action import KINDS_OF, Action, Operation
from karptui.actions.audit_record import AuditDiff, AuditEntry, Outcome, Result
from karptui.kube.gitops import GitOpsOwner, GitOpsTool, Revert
from karptui.kube.timestamps import parse_timestamp
from karptui.kube.units import counted, duration_text, first_of, instant_text, span_text, verb
from karptui.views.changes import value_text
from karptui.views.column import Column, Heading, Value, one_of, records, text_column
from karptui.views.plan import blocker_lines
from karptui.views.prices import known_text
from karptui.views.row import Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec
from karptui.views.whatif.sentences import headline_text

if TYPE_CHECKING:
    from karptui.forward.result import Moment
    from karptui.session.actions import Preview
    from karptui.studies.actions import AffectedPod, Expected


_TOOLS: Final = {
    GitOpsTool.FLUX_KUSTOMIZATION: "Flux Kustomization",
    GitOpsTool.FLUX_HELM_RELEASE: "Flux HelmRelease",
    GitOpsTool.ARGO_CD: "Argo CD Application",
}
_REVERTS: Final = {
    (GitOpsTool.FLUX_KUSTOMIZATION, Revert.NEXT_RECONCILIATION): "reverts the change at its next reconciliation",
    (GitOpsTool.FLUX_HELM_RELEASE, Revert.IF_ENABLED): (
        "reverts the change if its driftDetection is enabled; otherwise an upgrade may"
    ),
    (GitOpsTool.FLUX_HELM_RELEASE, Revert.NEXT_RELEASE): "may revert the change at its next upgrade",
    (GitOpsTool.ARGO_CD, Revert.IF_ENABLED): "reverts the change at once with selfHeal; otherwise its next sync does",
}


def owner_text(owner: GitOpsOwner) -> str:
    """Return the owner's kind and name: ``Flux Kustomization flux-system/infra``."""
    return f"{_TOOLS[owner.tool]} {clean(owner.name)}".rstrip()


def revert_text(owner: GitOpsOwner) -> str:
    """Return whether an owner reverts an edit, and the evidence that it owns the object."""
    if owner.revert is Revert.NEVER:
        return f"{owner_text(owner)} is configured to ignore it ({owner.evidence})"
    reverts = _REVERTS[owner.tool, owner.revert]
    return f"{owner_text(owner)} applies it ({owner.evidence}): if Git sets this field, it {reverts}"


OWNER: Final[tuple[Value[GitOpsOwner], ...]] = (
    Value("tool", lambda owner, _: owner.tool, one_of(*GitOpsTool)),
    Value("name", lambda owner, _: owner.name, str, "With its namespace if known; empty if unknown."),
    Value("evidence", lambda owner, _: owner.evidence, str, "Label, annotation or field manager."),
    Value("revert", lambda owner, _: owner.revert, one_of(*Revert), "When it reverts an edit."),
)


_MOST_FIELDS: Final = 30
_FEW: Final = 3
_KNOWN: Final = {
    Operation.DO_NOT_REPAIR: "Karpenter 1.14 ignores do-not-repair; from 1.15 on it blocks repair of the node",
    Operation.EVICT: "the pod gets its grace period to stop; an eviction cannot be undone",
    Operation.DELETE: "Karpenter drains the node through the Eviction API and terminates the instance",
}


def title(action: Action) -> str:
    """Return an action as a phrase: ``scale Deployment web/api to 4``."""
    target = f"{action.target.kind} {clean(action.target.key)}"
    match action.operation:
        case Operation.SCALE:
            return f"scale {target} to {action.replicas}"
        case Operation.DO_NOT_DISRUPT if action.value != "true":
            return f"{action.operation} {target} for {clean(action.value)}"
        case operation:
            return f"{operation} {target}"


def command(action: Action) -> str:
    """Return the command line that carries out an action."""
    if action.manifest is not None:
        text = msgspec.json.encode(action.manifest).decode()
        return f"echo {shlex.quote(text)} | karptui do apply -f -"
    target = action.target
    is_usual = target.kind == KINDS_OF[action.operation][0]
    name = target.key if is_usual and action.operation is not Operation.SCALE else f"{target.kind.lower()}/{target.key}"
    words = ["karptui", "do", str(action.operation), name]
    words += ["--replicas", str(action.replicas)] if action.operation is Operation.SCALE else []
    words += (
        ["--value", action.value] if action.operation is Operation.DO_NOT_DISRUPT and action.value != "true" else []
    )
    return shlex.join(words)


def preview_lines(preview: Preview) -> Iterator[str]:
    """Yield an action, its request, the diff of the server's dry run, and the undo."""
    yield title(preview.action)
    if (request := preview.request) is not None:
        yield f"  request: {request.method} {clean(request.url)} ({request.content_type})"
        yield f"    {clean(msgspec.json.encode(request.body).decode(), limit=2_000)}"
    if preview.missing:
        yield f"  ✖ not permitted: {clean(preview.missing)}"
    elif preview.is_in_effect:
        yield "  nothing to change: no request is sent"
    elif preview.problem:
        yield f"  ✖ the server refuses it{_status(preview.status)}: {clean(preview.problem)}"
        yield from _cause_lines(preview.causes)
    else:
        yield "  server's dry run: accepted"
        yield from (f"    {line}" for line in diff_lines(preview))
        undo = preview.undo
        yield f"  undo: {clean(command(undo), limit=2_000)}" if undo is not None else "  undo: none"
    if preview.managers:
        yield f"  also set by: {clean(', '.join(preview.managers))}"
    if preview.owner is not None:
        yield f"  Git: {revert_text(preview.owner)}"
    if preview.action.operation is Operation.SCALE and preview.is_ready:
        yield f"  note: {_autoscaler_text(preview)}"
    if preview.action.operation in _KNOWN:
        yield f"  note: {_KNOWN[preview.action.operation]}"


def _autoscaler_text(preview: Preview) -> str:
    if preview.autoscalers is None:
        namespace = clean(preview.action.target.namespace)
        return f"not known whether an autoscaler may undo it: HorizontalPodAutoscalers of {namespace} cannot be listed"
    if not preview.autoscalers:
        return "no HorizontalPodAutoscaler scales it; other autoscalers are not read"
    names = ", ".join(
        f"{clean(autoscaler.name)} ({autoscaler.least} to {autoscaler.most} replicas)"
        for autoscaler in preview.autoscalers
    )
    if not preview.action.replicas and all(autoscaler.least for autoscaler in preview.autoscalers):
        return f"HorizontalPodAutoscaler {names} scales it, but not from 0 replicas; KEDA may"
    return f"HorizontalPodAutoscaler {names} scales it and may undo this"


def diff_lines(preview: Preview) -> Iterator[str]:
    """Yield the fields that an action changes, or that it removes the object."""
    if preview.action.operation in (Operation.DELETE, Operation.EVICT):
        yield f"{preview.action.target.kind} {clean(preview.action.target.key)} is deleted"
    for change in preview.diff[:_MOST_FIELDS]:
        before, after = (value_text(side) or "(none)" for side in (change.before, change.after))
        yield f"{clean(change.path)}: {clean(before)} → {clean(after)}"
    if len(preview.diff) > _MOST_FIELDS:
        yield f"and {len(preview.diff) - _MOST_FIELDS} more fields"


def _status(status: int) -> str:
    return f" ({status})" if status else ""


def _cause_lines(causes: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield from (f"    {clean(field)}: {clean(message)}" for field, message in causes)


def expected_lines(forecast: Expected) -> Iterator[str]:
    """Yield the forecast of actions, and the affected pods."""
    plan, edited = forecast.plan, forecast.plan.edited
    span = span_text(edited.until_ns - edited.from_ns)
    if not forecast.drains:
        # Of a deletion the what-if would leave out that its drain may be blocked.
        yield f"  at once: {clean(headline_text(plan.answer), limit=500)}"
    for name, seconds in forecast.drains:
        yield f"  {clean(name)}: {_drain_text(seconds, is_over=edited.is_quiescent)}"
    took = f", after {span}" if edited.until_ns > edited.from_ns else ""
    yield f"  {f'in the end{took}' if edited.is_quiescent else f'forecast for {span}'}:"
    yield f"    without it: {_moment_text(plan.now.end)}"
    yield f"    with it:    {_moment_text(edited.end)}"
    for line in (*plan.risks()[:_FEW], *list(blocker_lines(plan))[:_FEW]):
        yield f"  risk: {clean(line)}"
    yield from (f"  {line}" for line in _pod_lines(forecast.pods))
    if forecast.staying:
        stay = verb(forecast.staying, "stays", "stay")
        yield f"  {counted(forecast.staying, 'pod')} on it {stay} there: cordon keeps only new pods from the node"
    yield "  assumed: a constant load, and nothing else changes; karptui plan and forward show every step"


def _drain_text(seconds: int | None, *, is_over: bool) -> str:
    if seconds is not None:
        return f"drained and gone after {duration_text(seconds)}"
    return "its drain is blocked, and the node stays" if is_over else "its drain is still running then"


def _moment_text(moment: Moment) -> str:
    return f"{counted(moment.nodes, 'node')}, {known_text(moment)}, {moment.pending} pending"


def _pod_lines(pods: Sequence[AffectedPod]) -> Iterator[str]:
    if not pods:
        return
    yield f"pods to be evicted: {len(pods)} ({first_of([clean(pod.key) for pod in pods], _FEW)})"
    blocked = [f"{clean(pod.key)} by {clean(', '.join(pod.pdbs))}" for pod in pods if pod.is_blocked]
    if blocked:
        yield f"PodDisruptionBudgets allow no eviction now of {len(blocked)}: {first_of(blocked, _FEW)}"
    if guarded := sorted({clean(name) for pod in pods for name in pod.pdbs if not pod.is_blocked}):
        yield f"PodDisruptionBudgets that count the evictions: {first_of(guarded, _FEW)}"
    for name, what in (("is_protected", "do-not-disrupt protects"), ("is_lost", "nothing recreates")):
        if keys := [clean(pod.key) for pod in pods if getattr(pod, name)]:
            yield f"{what} {len(keys)}: {first_of(keys, _FEW)}"


_RESULTS: Final = {
    Result.DONE: "✔ done",
    Result.REFUSED: "✖ refused by the server",
    Result.FAILED: "✖ not carried out",
    Result.UNKNOWN: "? outcome unknown",
}


def outcome_lines(preview: Preview, outcome: Outcome) -> Iterator[str]:
    """Yield the outcome of an action."""
    yield f"{_RESULTS[outcome.result]}: {title(preview.action)}{_status(outcome.status) if outcome.message else ''}"
    if outcome.was_looked_up:
        state = "changed" if outcome.result is Result.DONE else "unchanged"
        yield f"  the response was lost; a later read shows the object {state}"
    if outcome.message:
        yield f"  {clean(outcome.message)}"
    yield from _cause_lines(outcome.causes)
    if outcome.audit_problem:
        yield f"  ✖ {clean(outcome.audit_problem)}"


def comparison_lines(expected: Moment | None, now: Moment, seconds: float, shown: int, total: int) -> Iterator[str]:
    """Yield the prediction next to the outcome, as far as the watch shows it."""
    yield f"after {seconds:.0f} s the watch shows {shown} of {counted(total, 'change')}"
    if expected is not None:
        yield f"  expected by then: {_moment_text(expected)}"
    yield f"  now:              {_moment_text(now)}"


_ANYTHING: Final[dict[str, Any]] = {}
_DIFF: Final[tuple[Value[AuditDiff], ...]] = (
    Value("field", lambda row, _: row.field, str),
    Value("before", lambda row, _: row.before, _ANYTHING, "Value before; null is absent."),
    Value("after", lambda row, _: row.after, _ANYTHING, "Value after; null is absent."),
)


def _object_text(row: AuditEntry) -> str:
    named = row.begun.object
    return f"{named.get('kind', '')} {'/'.join(filter(None, (named.get('namespace'), named.get('name'))))}"


def _time_text(row: AuditEntry) -> str:
    try:
        return instant_text(parse_timestamp(row.begun.time))
    except ValueError:
        return row.begun.time


def _change_text(row: AuditEntry) -> str:
    return ", ".join(
        f"{diff.field.rpartition('.')[2]}: {value_text(diff.before) or '-'} → {value_text(diff.after) or '-'}"
        for diff in row.begun.diff
    )


_TIME: Final[Column[AuditEntry]] = text_column(
    Heading("time", "TIME", "When the request was sent, in UTC.", 17, 20),
    _time_text,
    values=Value("time", lambda row, _: row.begun.time, str, "When the request was sent."),
)
TABLE: Final[TableSpec[AuditEntry]] = TableSpec(
    "actions",
    (
        _TIME,
        text_column(
            Heading("context", "CONTEXT", "Context of the kubeconfig.", 8, 24, drop_order=2),
            lambda row: row.begun.context,
            json="context",
        ),
        text_column(
            Heading("user", "USER", "The user, by the server's account if it has one.", 6, 28, drop_order=3),
            lambda row: row.begun.user,
            json="user",
        ),
        text_column(Heading("action", "ACTION", "The action.", 6, 21), lambda row: row.begun.action, json="action"),
        text_column(
            Heading("object", "OBJECT", "The object.", 12, 44, is_name=True),
            _object_text,
            tone=lambda _: Tone.STRONG,
            values=(
                Value("kind", lambda row, _: row.begun.object.get("kind", ""), str),
                Value("namespace", lambda row, _: row.begun.object.get("namespace", ""), str),
                Value("name", lambda row, _: row.begun.object.get("name", ""), str),
            ),
        ),
        text_column(
            Heading("change", "CHANGE", "Fields before and after, by the server's dry run.", 8, 40, drop_order=4),
            _change_text,
            values=records("diff", lambda row: row.begun.diff, _DIFF, "Fields that it changes."),
        ),
        text_column(
            Heading("outcome", "OUTCOME", "done, refused, failed, unknown, or open: no answer was recorded.", 7, 8),
            lambda row: row.outcome,
            tone=lambda row: Tone.GOOD if row.outcome == "done" else Tone.FAULT,
            json="outcome",
        ),
        text_column(
            Heading("message", "MESSAGE", "The server's words.", 8, 50, drop_order=5),
            lambda row: row.ended.message if row.ended is not None else "karptui ended before the answer came",
            json="message",
        ),
        text_column(
            Heading("reason", "REASON", "The reason that was typed.", 8, 40, drop_order=1),
            lambda row: row.begun.reason,
            json="reason",
        ),
    ),
    key=lambda row: row.begun.id,
    default_sort=Sort("time", is_descending=True),
    text=lambda row: f"{row.begun.action} {_object_text(row)} {row.begun.user} {row.begun.reason}".lower(),
    more_values=(
        Value(
            "status",
            lambda row, _: row.ended.status if row.ended is not None else 0,
            int,
            "HTTP status of a refusal or fault; 0 otherwise.",
        ),
        Value("user_from", lambda row, _: row.begun.user_from, str, "server or kubeconfig."),
        Value("server", lambda row, _: row.begun.server, str),
        Value("uid", lambda row, _: row.begun.object.get("uid", ""), str),
        Value("method", lambda row, _: row.begun.method, str),
        Value("path", lambda row, _: row.begun.path, str),
        Value("id", lambda row, _: row.begun.id, str),
    ),
    is_notable=lambda row, _: row.outcome != "done",
)
