"""The writer: tries an action out on the server, carries it out, and finds out what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from karptui.actions.action import Action, Document, is_in_effect
from karptui.actions.audit_record import AuditDiff, Outcome, Result
from karptui.actions.request import (
    Access,
    Autoscaler,
    Request,
    access_of,
    autoscalers_of,
    autoscalers_path,
    path_of,
    request_of,
    version_of,
)
from karptui.sources.actions.audit import AuditError, AuditFile
from karptui.sources.actions.permit import NotAllowedError, Permit, covers
from karptui.sources.cluster.body import decoded
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.credentials import credentials_for
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.official_client import review_access, send, who_am_i
from karptui.sources.cluster.transport import READ_SECONDS, Transport
from karptui.sources.source import SourceError


class LiveServer:
    """Sends requests as the user of a context."""

    def __init__(self, connection: Connection, *, request_seconds: float | None = None) -> None:
        self._connection = connection
        self._transport: Final = Transport(
            connection, credentials_for(connection), read_seconds=request_seconds or READ_SECONDS
        )
        self._user: tuple[str, str] | None = None

    @property
    def context(self) -> str:
        """Name of the context."""
        return self._connection.context

    @property
    def url(self) -> str:
        """Address of the server."""
        return self._connection.server

    def get(self, path: str) -> Document:
        """Return an object; raises SourceError."""
        return decoded(self._transport.get(path), dict[str, Any], f"{self.url} did not answer with an object")

    def write(self, permit: Permit, request: Request) -> Document:
        """Send a request that changes an object, and return the answer; raises SourceError."""
        return send(self._transport, permit, request)

    def may(self, access: Access) -> tuple[bool, str]:
        """Return whether the user has a permission, and the authorizer's reason; raises SourceError."""
        fields = msgspec.structs.asdict(access)
        return review_access(self._transport, {name: value for name, value in fields.items() if value})

    def user(self) -> tuple[str, str]:
        """Return the user's name, and whether the server or the kubeconfig gave it."""
        if self._user is None:
            try:
                name = who_am_i(self._transport)
            except SourceError:
                name = ""
            whom = self._connection.impersonation
            configured = whom.user if whom is not None else self._connection.user
            self._user = (name, "server") if name else (configured, "kubeconfig")
        return self._user

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()


if TYPE_CHECKING:
    from karptui.sources.actions.demo import DemoServer

    ActionServer: TypeAlias = LiveServer | DemoServer

LOOK_UP_SECONDS: Final = 30.0
"""Maximum time to read the outcome after a lost answer, in seconds."""
_SETTLE_SECONDS: Final = 5.0
"""Time in which a request without an answer may still take effect, in seconds."""
_LOOK_UP_EVERY: Final = 0.5


class Writer:
    """Changes objects of one cluster: the only way to do so."""

    def __init__(
        self,
        permit: Permit,
        server: ActionServer,
        audit: AuditFile,
        *,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set up without connecting.

        Raises:
            NotAllowedError: there is no permit for this server.
        """
        if not covers(permit, server.url):
            raise NotAllowedError("actions are not allowed on this server")
        self.permit: Final = permit
        self.server: Final = server
        self._audit = audit
        self._sleep, self._monotonic = sleep, monotonic

    def look(self, action: Action) -> Document | None:
        """Return an action's current object; None if it does not exist."""
        try:
            return self.server.get(path_of(action.target, version_of(action)))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def autoscalers(self, action: Action) -> tuple[Autoscaler, ...] | None:
        """Return the HorizontalPodAutoscalers that scale an action's object; None if they cannot be read."""
        try:
            return autoscalers_of(action.target, self.server.get(autoscalers_path(action.target)))
        except SourceError:
            return None

    def missing(self, action: Action) -> str:
        """Return the permission that the user lacks for an action, with the authorizer's reason; empty if none."""
        access = access_of(action)
        is_allowed, reason = self.server.may(access)
        return "" if is_allowed else f"{access.title}{f' ({reason})' if reason else ''}"

    def try_out(self, action: Action, live: Document) -> Document:
        """Return the answer to a dry run on the server, which changes nothing."""
        return self.server.write(self.permit, request_of(action, live, is_dry_run=True))

    def carry_out(
        self, action: Action, live: Document, after: Document | None, *, reason: str, diff: tuple[AuditDiff, ...]
    ) -> Outcome:
        """Carry out an action, with a line in the audit file before and after.

        Args:
            live: the object, which must not change before the server has the request.
            after: the object after the dry run, for manifests.

        Raises:
            AuditError: the audit file cannot be written; nothing was sent.
        """
        request = request_of(action, live, is_dry_run=False)
        metadata: Any = live.get("metadata") or {}
        user, user_from = self.server.user()
        named = {"kind": action.target.kind, "namespace": action.target.namespace, "name": action.target.name}
        named |= {field: str(metadata.get(field) or "") for field in ("uid", "resourceVersion")}
        begun = self._audit.begin(
            context=self.server.context, server=self.server.url, user=user, user_from=user_from,
            action=str(action.operation), object={key: text for key, text in named.items() if text},
            method=request.method, path=request.url, diff=diff, reason=reason,
        )  # fmt: skip
        outcome = self._sent(action, request, str(metadata.get("uid") or ""), after)
        try:
            self._audit.end(begun, outcome=outcome.result, status=outcome.status, message=outcome.message)
        except AuditError as error:
            return replace(outcome, audit_problem=str(error))
        return outcome

    def _sent(self, action: Action, request: Request, uid: str, after: Document | None) -> Outcome:
        try:
            self.server.write(self.permit, request)
        except ApiError as error:
            if error.status >= 500:
                return self._outcome_by_reading(action, uid, after, error)
            return Outcome(
                result=Result.REFUSED, status=error.status, message=error.message, causes=tuple(error.causes)
            )
        except SourceError as error:
            return self._outcome_by_reading(action, uid, after, error)
        return Outcome(result=Result.DONE)

    def _outcome_by_reading(self, action: Action, uid: str, after: Document | None, error: SourceError) -> Outcome:
        """Return the outcome of a request without a usable answer, by reading its object."""
        status = error.status if isinstance(error, ApiError) else 0
        settled, until = self._monotonic() + _SETTLE_SECONDS, self._monotonic() + LOOK_UP_SECONDS
        while True:
            try:
                live = self.look(action)
            except SourceError as silence:
                if self._monotonic() > until:
                    message = f"{error}; the object cannot be read either: {silence}"
                    return Outcome(result=Result.UNKNOWN, status=status, message=message)
                self._sleep(_LOOK_UP_EVERY)
                continue
            is_done = is_in_effect(action, live, uid, after)
            if is_done or self._monotonic() > settled:
                result = Result.DONE if is_done else Result.FAILED
                return Outcome(result=result, status=status, message=str(error), was_looked_up=True)
            self._sleep(_LOOK_UP_EVERY)
