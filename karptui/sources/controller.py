"""What Karpenter was started with, read from its Deployment or pod and kept fresh in the background."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from karptui.aws.region import FactPhase, FactStatus
from karptui.clock import Clock
from karptui.decode.controller import OWN_NAMESPACE, decode_controller, is_idle, order_of
from karptui.decode.loose import text
from karptui.karpenter.controller import LEADER_LEASE, ControllerInfo
from karptui.sources.cluster.errors import ApiError
from karptui.sources.karpenter_identity import SELECTOR, ProxyClient, list_items, path_in, places
from karptui.sources.periodic import REFRESH_SECONDS, PeriodicSource, Wait, failed_status
from karptui.sources.source import SourceError

READ_SECONDS: Final = 30.0
_PLACES: Final = (("Deployment", "/apis/apps/v1", "deployments"), ("Pod", "/api/v1", "pods"))
_LIMIT: Final = "20"


class ControllerError(SourceError):
    """The controller's settings are unavailable; the message has the cause and the remedy.

    Attributes:
        others: Objects labelled as Karpenter that are not trusted.
    """

    def __init__(self, sentence: str, others: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.others = others


def read_controller(client: ProxyClient, *, read_seconds: float = READ_SECONDS) -> ControllerInfo:
    """Return the settings of Karpenter's Deployment, or of one of its pods if no Deployment is readable.

    Raises:
        ControllerError: if neither exists, or listing is forbidden.
        SourceError: if the API server does not answer.
    """
    idle: tuple[Mapping[str, Any], str, str] | None = None
    refusals: list[ApiError] = []
    attempts = 0
    for place in places(client, read_seconds=read_seconds):
        for kind, group, resource in _PLACES:
            attempts += 1
            try:
                documents = _list(client, path_in(group, place.namespace, resource), read_seconds)
            except ApiError as error:
                refusals.append(error)
                continue
            items = [d for d in documents if place.is_proven_by(text(d, "metadata", "name"), _account_of(d, kind))]
            if not items:
                continue
            best = min(items, key=order_of)
            if not is_idle(best):
                return _info(client, best, kind, place.doubt, read_seconds)
            idle = idle or (best, kind, place.doubt)
            break
    if idle is not None:
        return _info(client, *idle, read_seconds)
    if len(refusals) == attempts:
        raise _refused(refusals)
    if others := _others(client, "", read_seconds):
        raise ControllerError(
            f"{', '.join(others[:3])}: labelled {SELECTOR}, but is not proven to be Karpenter: it is not in "
            f"{OWN_NAMESPACE}, its service account may not write NodeClaims, and it holds no lease {LEADER_LEASE} in a "
            "cluster whose NodePools Karpenter wrote. Karpenter's settings are unknown; defaults are assumed",
            others,
        )
    raise ControllerError(
        f"no Deployment or pod is labelled {SELECTOR}: Karpenter's settings are unknown; defaults are assumed"
    )


def _refused(refusals: list[ApiError]) -> SourceError:
    if all(error.status == 403 for error in refusals):
        return ControllerError(
            "reading Karpenter's settings needs permission to list deployments or pods in its namespace; "
            "defaults are assumed"
        )
    return refusals[0]


def _info(
    client: ProxyClient, document: Mapping[str, Any], kind: str, doubt: str, read_seconds: float
) -> ControllerInfo:
    info = decode_controller(document, kind)
    others = _others(client, info.namespace, read_seconds)
    return msgspec.structs.replace(info, others=others, doubt=doubt)


def _others(client: ProxyClient, namespace_of_karpenter: str, read_seconds: float) -> tuple[str, ...]:
    """Return objects labelled as Karpenter in other namespaces, if they may be listed, without pods of Deployments."""
    titles: list[str] = []
    for kind, group, resource in _PLACES:
        try:
            items = _list(client, f"{group}/{resource}", read_seconds)
        except ApiError:
            continue
        for item in sorted(items, key=order_of):
            namespace, name = (text(item, "metadata", field) for field in ("namespace", "name"))
            has_owner = any(f"Pod {namespace}/{name}".startswith(f"Pod {each.partition(' ')[2]}-") for each in titles)
            if namespace != namespace_of_karpenter and not has_owner:
                titles.append(f"{kind} {namespace}/{name}")
    return tuple(titles)


def _list(client: ProxyClient, path: str, read_seconds: float) -> list[dict[str, Any]]:
    return list_items(client, path, read_seconds, {"labelSelector": SELECTOR, "limit": _LIMIT})


def _account_of(document: Mapping[str, Any], kind: str) -> str:
    path = ("spec", "template", "spec") if kind == "Deployment" else ("spec",)
    return text(document, *path, "serviceAccountName")


class ControllerNews(msgspec.Struct, frozen=True, eq=False):
    """The latest reading; compared by identity to detect changes."""

    status: FactStatus
    info: ControllerInfo | None = None
    """The last reading, however old: the status has its age."""
    others: tuple[str, ...] = ()
    """Objects labelled as Karpenter that are not trusted: ``Deployment shop/web``."""


class ControllerSource(PeriodicSource[ControllerNews]):
    """Reads Karpenter's Deployment once a minute."""

    thread_name: ClassVar[str] = "karpenter-settings"
    lasting: ClassVar[type[SourceError]] = ControllerError

    def __init__(self, client: ProxyClient, *, clock: Clock | None = None, wait: Wait = threading.Event.wait) -> None:
        super().__init__(ControllerNews(FactStatus(phase=FactPhase.WAITING)), clock=clock, wait=wait)
        self._client = client

    def read(self) -> float:
        """Read the Deployment; an equal reading is no news."""
        before, now_ns = self._news, self._clock.now_ns()
        info = read_controller(self._client)
        if info != before.info or before.status.phase is not FactPhase.LIVE:
            # An equal reading stays the same object, so that nothing is recomputed.
            kept = before.info if info == before.info else info
            sentence = "; ".join(info.sentences)
            status = FactStatus(phase=FactPhase.LIVE, sentence=sentence, as_of_ns=now_ns)
            self._news = ControllerNews(status, kept, info.others)
        return REFRESH_SECONDS

    def failed(self, error: SourceError, seconds: float) -> None:
        """Record that a reading failed, unless it is the same failure again; earlier results are kept."""
        before = self._news
        status = failed_status(before.status, error, now_ns=self._clock.now_ns(), rest_seconds=seconds)
        if (before.status.phase, before.status.sentence) != (status.phase, status.sentence):
            others = error.others if isinstance(error, ControllerError) else before.others
            self._news = ControllerNews(status, before.info, others)
