from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from karptui import files
from karptui.config import ContextSettings
from karptui.sources.actions.audit import AuditFile
from karptui.sources.actions.guard import permit_for
from karptui.sources.actions.permit import NotAllowedError, Permit
from karptui.sources.actions.writer import LiveServer, Writer
from karptui.sources.cluster.official_client import api_client
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.demo.source import DemoSource, LargeDemo
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from karptui.sources.source import Source
from tests.builders.files import written
from tests.fake_api_server import LoopbackServer
from tests.sources.cluster.live import transport_to

from .permits import ALLOWED, connection, permit


def refusal(source: Source, settings: ContextSettings = ALLOWED, *, is_asked: bool = True, **more: Any) -> str:
    with pytest.raises(NotAllowedError) as refused:
        permit_for(source, settings, most_objects=10, is_asked=is_asked, **more)
    return str(refused.value)


LIVE = ClusterSource(connection("https://a"))


OFF, READ_ONLY = ContextSettings(), ContextSettings(allow_actions=True, read_only=True)


def test_actions_need_a_flag_and_a_live_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for source in (LIVE, DemoSource()):
        assert "start with --allow-actions" in refusal(source, OFF, is_asked=False)
    assert "marks the context test as read_only" in refusal(LIVE, READ_ONLY)
    path = written(tmp_path / "a.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    for still in (SnapshotSource(SnapshotReader(karpenter_version="").read([path])), LargeDemo()):
        assert "is not a live cluster" in refusal(still)
    assert "at a past moment" in refusal(LIVE, is_past=True)
    monkeypatch.setattr(files, "_forbidden", True)
    assert "served to a browser" in refusal(LIVE)


def test_a_permit_is_made_by_the_guard_alone(tmp_path: Path) -> None:
    with pytest.raises(NotAllowedError):
        Permit(object(), "https://a", 10)
    server = LiveServer(connection("https://a"))
    for other in (cast("Any", None), cast("Any", object()), permit("https://b")):
        with pytest.raises(NotAllowedError):
            Writer(other, server, AuditFile(tmp_path / "audit"))


def test_without_a_permit_not_a_byte_of_a_writing_request_is_sent() -> None:
    with LoopbackServer(lambda call: call.json({})) as server:
        transport = transport_to(server)
        for given in (cast("Any", None), permit("https://elsewhere")):
            with pytest.raises(NotAllowedError):
                transport.write(given, "PATCH", "/api/v1/nodes/a", b"{}")
        with pytest.raises(NotAllowedError):
            transport.review("/api/v1/nodes", b"{}")
        with pytest.raises(NotAllowedError):
            api_client(transport).rest_client.request("DELETE", f"{server.url}/api/v1/nodes/a", headers={}, body={})
        assert server.calls == []


def test_no_other_module_acts_as_the_guard() -> None:
    package = Path(files.__file__).parent
    users = {str(path.relative_to(package)) for path in package.rglob("*.py") if "GUARD" in path.read_text()}
    assert users == {"sources/actions/permit.py", "sources/actions/guard.py"}
