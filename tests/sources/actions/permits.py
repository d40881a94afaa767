"""Permits and writers for tests."""

from __future__ import annotations

from pathlib import Path

from karptui.config import ContextSettings
from karptui.sources.actions.audit import AuditFile
from karptui.sources.actions.guard import permit_for
from karptui.sources.actions.permit import Permit
from karptui.sources.actions.writer import LiveServer, Writer
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.source import ClusterSource
from tests.builders.instants import Ticks

ALLOWED = ContextSettings(allow_actions=True)


def connection(url: str) -> Connection:
    return Connection(server=url, context="test", user="dev")


def permit(url: str) -> Permit:
    """Return a permit to change the cluster of the server at this URL."""
    return permit_for(ClusterSource(connection(url)), ALLOWED, most_objects=10, is_asked=False)


def writer_to(url: str, audit: Path, *, request_seconds: float = 5.0) -> Writer:
    """Return a writer to the server at this URL; it never sleeps."""
    ticks = Ticks()
    server = LiveServer(connection(url), request_seconds=request_seconds)
    return Writer(permit(url), server, AuditFile(audit), sleep=ticks.sleep, monotonic=ticks.monotonic)
