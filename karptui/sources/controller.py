"""What Karpenter was started with, read from its Deployment or pod and kept fresh in the background."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from karptui.aws.region import FactPhase, FactStatus
from karptui.clock import Clock
from karptui.decode.controller import decode_controller
from karptui.karpenter.controller import ControllerInfo
from karptui.sources.base import SourceError
from karptui.sources.cluster.body import decoded
from karptui.sources.cluster.errors import ApiError
from karptui.sources.metrics.controller import NAMESPACES, SELECTOR, ProxyClient
from karptui.sources.periodic import REFRESH_SECONDS, REFUSED_SECONDS, PeriodicSource, Wait, failed_status

READ_SECONDS: Final = 30.0
_PLACES: Final = (("Deployment", "/apis/apps/v1", "deployments"), ("Pod", "/api/v1", "pods"))
_LIMIT: Final = "20"


class ControllerError(SourceError):
    """What the controller was started with cannot be had; the sentence says why and what would help."""


class _Objects(msgspec.Struct):
    items: list[dict[str, Any]] = []


def read_controller(client: ProxyClient, *, read_seconds: float = READ_SECONDS) -> ControllerInfo:
    """Return what Karpenter's Deployment says of it, or one of its pods where there is no Deployment to be read.

    Raises:
        ControllerError: when neither is there, or may be listed.
        SourceError: when the API server cannot be asked at all.
    """
    refusals: list[ApiError] = []
    for kind, group, resource in _PLACES:
        try:
            found = _list(client, group, resource, read_seconds)
        except ApiError as error:
            refusals.append(error)
            continue
        if found:
            return decode_controller(min(found, key=_place), kind)
    if refusals and all(error.status == 403 for error in refusals):
        raise ControllerError(
            "Karpenter's settings need permission to list deployments or pods in its namespace; defaults are assumed"
        )
    if len(refusals) == len(_PLACES):
        raise refusals[0]
    raise ControllerError(
        f"no Deployment or pod is labelled {SELECTOR}: Karpenter's settings are not known, defaults are assumed"
    )


def _list(client: ProxyClient, group: str, resource: str, read_seconds: float) -> list[dict[str, Any]]:
    """Return the labelled objects of all namespaces, or where that is not allowed of the usual ones."""
    query = {"labelSelector": SELECTOR, "limit": _LIMIT}
    try:
        return _items(client.get(f"{group}/{resource}", query, read_seconds=read_seconds))
    except ApiError as error:
        refusal = error
    for namespace in NAMESPACES:
        try:
            found = _items(client.get(f"{group}/namespaces/{namespace}/{resource}", query, read_seconds=read_seconds))
        except ApiError:
            continue
        if found:
            return found
    raise refusal


def _items(body: bytes) -> list[dict[str, Any]]:
    return decoded(body, _Objects, "the API server's answer cannot be read").items


def _place(document: Mapping[str, Any]) -> tuple[bool, str, str]:
    """Return what decides between several: those that run first, then by name."""
    spec, metadata, status = (_mapping(document.get(name)) for name in ("spec", "metadata", "status"))
    is_idle = spec.get("replicas") == 0 or status.get("phase", "Running") != "Running"
    return is_idle, str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


class ControllerNews(msgspec.Struct, frozen=True, eq=False):
    """What is known at a moment; compared by identity to see whether there is anything new."""

    status: FactStatus
    info: ControllerInfo | None = None
    """The last reading, however old: the status has its age."""


class ControllerSource(PeriodicSource[ControllerNews]):
    """Reads Karpenter's Deployment once a minute: how soon one that has changed is noticed."""

    thread_name: ClassVar[str] = "karpenter-settings"

    def __init__(self, client: ProxyClient, *, clock: Clock | None = None, wait: Wait = threading.Event.wait) -> None:
        super().__init__(ControllerNews(FactStatus(phase=FactPhase.WAITING)), clock=clock, wait=wait)
        self._client = client

    def read(self) -> float:
        """Read the Deployment; an equal reading, or the same failure again, is no news."""
        before, now_ns = self._news, self._clock.now_ns()
        try:
            info = read_controller(self._client)
        except SourceError as error:
            seconds = REFUSED_SECONDS if isinstance(error, ControllerError) else REFRESH_SECONDS
            status = failed_status(before.status, error, now_ns=now_ns, rest_seconds=seconds)
            if (before.status.phase, before.status.sentence) != (status.phase, status.sentence):
                self._news = ControllerNews(status, before.info)
            return seconds
        if info != before.info or before.status.phase is not FactPhase.LIVE:
            # An equal reading stays the same object, so that nothing is worked out anew for it.
            kept = before.info if info == before.info else info
            sentence = "; ".join(info.sentences)
            self._news = ControllerNews(FactStatus(phase=FactPhase.LIVE, sentence=sentence, as_of_ns=now_ns), kept)
        return REFRESH_SECONDS
