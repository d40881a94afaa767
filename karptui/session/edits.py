"""Recent edits, and the findings that they preceded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from karptui.changes.changes import Edit, edits
from karptui.decode.kinds import Kind, kind_named
from karptui.kube.generated_names import written_owner
from karptui.kube.objects import controller_of
from karptui.kube.timestamps import DAY_NS
from karptui.session.changes import versions_between
from karptui.session.cluster_view import ClusterView
from karptui.sources.history.store import History
from karptui.verdict.finding import ClusterFinding
from karptui.verdict.preceding import edit_before

_KEPT_NS: Final = DAY_NS


def recent_edits(path: Path, now_ns: int, within_ns: int = _KEPT_NS) -> tuple[Edit, ...]:
    """Return the edits of the last day in a history, the first first; those made in a pause are left out.

    Args:
        within_ns: How far back; everything recorded since is read.
    """
    with closing(History(path)) as history:
        sessions = history.sessions()
        if not sessions:
            return ()
        from_ns = max(now_ns - within_ns, sessions[0].from_ns)
        versions = versions_between(history, from_ns, now_ns)
        return tuple(edit for edit in edits(history.objects_at(from_ns), versions) if edit.at_ns)


def with_edits(
    findings: Sequence[ClusterFinding], view: ClusterView, recent: Sequence[Edit]
) -> tuple[ClusterFinding, ...]:
    """Return findings with the edits that preceded them."""
    if not recent:
        return tuple(findings)
    return tuple(replace(finding, edit=edit_before(finding, _refs(finding, view), recent)) for finding in findings)


def _refs(finding: ClusterFinding, view: ClusterView) -> set[tuple[str, str]]:
    """Return kind and key of a finding's objects, their NodePools and NodeClasses, and the owners of its pods."""
    refs: set[tuple[str, str]] = {(Kind.NODEPOOL, pool) for pool in finding.pools}
    pods = list(finding.pending.pods)
    for name in finding.objects:
        api_kind, _, key = name.partition("/")
        kind = kind_named(api_kind)
        if kind is Kind.POD:
            pods.append(key)
        elif kind is not None:
            refs.add((kind, name if kind is Kind.NODECLASS else key))
    for _, key in [ref for ref in refs if ref[0] == Kind.NODEPOOL]:
        pool = view.state.nodepools.get(key)
        if pool is not None:
            refs.add((Kind.NODECLASS, pool.node_class_ref.key))
    return refs | set(_owners(pods, view))


def _owners(pods: Iterable[str], view: ClusterView) -> Iterable[tuple[str, str]]:
    for key in pods:
        pod = view.state.pods.get(key)
        owner = controller_of(pod.owners) if pod is not None else None
        if pod is not None and owner is not None:
            kind, name = written_owner(owner.kind, owner.name, pod.labels)
            yield kind, f"{pod.namespace}/{name}"
