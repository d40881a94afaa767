"""The table of the audit file: a row for each request that changed a cluster, or tried to."""

from __future__ import annotations

from typing import Any, Final

from karptui.actions.audit_record import AuditDiff, AuditEntry
from karptui.kube.timestamps import parse_timestamp
from karptui.kube.units import instant_text
from karptui.views.changes import value_text
from karptui.views.column import Column, Heading, Value, records, text_column
from karptui.views.row import Tone
from karptui.views.table import Sort, TableSpec

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
