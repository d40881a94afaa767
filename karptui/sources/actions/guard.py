"""The guard: says whether the cluster of a source may be changed, and gives the permit."""

from __future__ import annotations

from karptui.config import ContextSettings
from karptui.files import files_are_forbidden
from karptui.sources.actions.permit import GUARD, NotAllowedError, Permit
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.demo.source import DemoSource, LargeDemo
from karptui.sources.source import Source


def permit_for(
    source: Source, settings: ContextSettings, *, most_objects: int, is_asked: bool, is_past: bool = False
) -> Permit:
    """Return the permit to change the cluster of a source.

    Raises:
        NotAllowedError: with the reason.
    """
    if files_are_forbidden():
        raise NotAllowedError("actions are refused in a session that is served to a browser (--serve)")
    if is_past:
        raise NotAllowedError("actions are refused at a past moment; :at . returns to now")
    is_demo = isinstance(source, DemoSource) and not isinstance(source, LargeDemo)
    if not is_demo and not isinstance(source, ClusterSource):
        raise NotAllowedError(f"actions are refused: {source.title} is not a live cluster")
    if settings.read_only:
        raise NotAllowedError(f"actions are refused: the configuration marks the context {source.title} as read_only")
    if not is_asked and not settings.allow_actions:
        raise NotAllowedError(
            "actions are off: start with --allow-actions, or set allow_actions = true for the context"
            f" {source.title} in the configuration"
        )
    server = source.connection.server if isinstance(source, ClusterSource) else source.title
    return Permit(GUARD, server, most_objects)
