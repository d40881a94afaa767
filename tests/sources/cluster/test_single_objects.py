from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.source import Phase, SourceError
from tests.fake_api_server import LoopbackServer

from .live import started
from .test_reflectors import karpenter

ANSWERS = {
    "/api/v1/namespaces/web/pods/a": '{"metadata": {"name": "a", "managedFields": [1]}, "spec": {"x": 1}}',
    "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses/default": '{"spec": 1}',
    "/api/v1/nodes/a": "<html>",
}


@pytest.fixture(scope="module")
def live() -> Iterator[ClusterSource]:
    """Return a source on a server with Karpenter and kwok, which has been read."""
    api = karpenter()
    api.install("karpenter.kwok.sh", "v1alpha1", "kwoknodeclasses", "KWOKNodeClass")
    with LoopbackServer(lambda call: call.text(ANSWERS[call.path]) if call.path in ANSWERS else api(call)) as server:
        source, mailbox = started(server)
        mailbox.until(lambda: Kind.POD in mailbox.statuses and mailbox.statuses[Kind.POD].phase is Phase.LIVE)
        yield source
        source.stop()


@pytest.mark.parametrize(("kind", "key", "fetched"), [
    ("Pod", "web/a", {"metadata": {"name": "a"}, "spec": {"x": 1}}),
    ("KWOKNodeClass", "default", {"spec": 1}),
    ("Pod", "web/b", "404"),
    ("EC2NodeClass", "default", "404"),
    ("Service", "x", "^Service x: the API server has no such kind$"),
    ("AKSNodeClass", "default", "^AKSNodeClass default: the API server has no such kind$"),
    ("Gadget", "x", "karptui does not read objects of kind Gadget"),
    ("Node", "a", "did not answer with an object"),
])  # fmt: skip
def test_single_objects_are_fetched_without_managed_fields(
    live: ClusterSource, kind: str, key: str, fetched: dict[str, Any] | str
) -> None:
    if isinstance(fetched, str):
        with pytest.raises(SourceError, match=fetched):
            live.fetch_object(kind, key)
    else:
        assert live.fetch_object(kind, key) == fetched
