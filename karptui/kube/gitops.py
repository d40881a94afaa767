"""Whether Flux or Argo CD applies an object from Git, and whether it would revert an edit made in the cluster.

Rules: Flux's ``SetOwnerLabels`` (fluxcd/pkg/ssa) and helm-controller's origin labels; Argo CD's
``util/argo/resource_tracking.go``. Whether Flux is suspended, and an Application's ``selfHeal``, are not read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

import msgspec

KUSTOMIZE: Final = "kustomize.toolkit.fluxcd.io"
HELM: Final = "helm.toolkit.fluxcd.io"
ARGO: Final = "argocd.argoproj.io"
TRACKING_ID: Final = f"{ARGO}/tracking-id"
KUSTOMIZE_RECONCILE: Final = f"{KUSTOMIZE}/reconcile"
KUSTOMIZE_SSA: Final = f"{KUSTOMIZE}/ssa"
HELM_DRIFT: Final = f"{HELM}/driftDetection"
READ_ANNOTATIONS: Final = frozenset({TRACKING_ID, KUSTOMIZE_RECONCILE, KUSTOMIZE_SSA, HELM_DRIFT})
"""Annotations that `gitops_owner` reads."""
_ARGO_INSTANCE: Final = f"{ARGO}/instance"
"""Label that Argo CD's documentation proposes for tracking by a label of its own."""
_INSTANCE: Final = "app.kubernetes.io/instance"
"""Label of Argo CD's older tracking. Helm charts set it too, so it proves nothing alone."""
_ARGO_MANAGERS: Final = frozenset({"argocd-controller", "argocd-application-controller"})
_KUSTOMIZE_MANAGER: Final = "kustomize-controller"
_HELM_MANAGER: Final = "helm-controller"
_NEVER_APPLIED: Final = frozenset({"ifnotpresent", "ignore"})


class GitOpsTool(StrEnum):
    """A controller that applies objects from Git."""

    FLUX_KUSTOMIZATION = "Kustomization"
    FLUX_HELM_RELEASE = "HelmRelease"
    ARGO_CD = "Application"


class Revert(StrEnum):
    """When an owner sets a field back that Git sets to another value."""

    NEXT_RECONCILIATION = "NextReconciliation"
    """At its next reconciliation, unless it is suspended."""
    IF_ENABLED = "IfEnabled"
    """Soon if it corrects drift (Argo CD ``selfHeal``, HelmRelease ``driftDetection``), else when it next applies."""
    NEXT_RELEASE = "NextRelease"
    """Only when it next installs or upgrades: its correction of drift is turned off by an annotation."""
    NEVER = "Never"
    """An annotation keeps it from applying this object."""


class GitOpsOwner(msgspec.Struct, frozen=True, gc=False):
    """The object of Flux or Argo CD that applies an object, and the evidence for it."""

    tool: GitOpsTool
    name: str
    """Its name, with the namespace if known; from the cluster, so clean it before showing. Empty if unknown."""
    evidence: str
    """The label, annotation or field manager that shows it, without its value."""
    revert: Revert


def gitops_owner(
    kind: str, name: str, labels: Mapping[str, str], annotations: Mapping[str, str], managers: Collection[str] = ()
) -> GitOpsOwner | None:
    """Return the tool that applies an object from Git, or None if nothing shows one.

    Args:
        kind: Kind of the object, and
        name: its name: an Argo CD tracking ID that was copied from another object does not count.
        managers: Field managers in its ``managedFields``, if they were read.
    """
    return (
        _kustomization(labels, annotations, managers)
        or _helm_release(labels, annotations, managers)
        or _application(kind, name, labels, annotations, managers)
    )


def _kustomization(
    labels: Mapping[str, str], annotations: Mapping[str, str], managers: Collection[str]
) -> GitOpsOwner | None:
    evidence = f"label {KUSTOMIZE}/name" if labels.get(f"{KUSTOMIZE}/name") else _manager(_KUSTOMIZE_MANAGER, managers)
    if not evidence:
        return None
    reconcile = _setting(KUSTOMIZE_RECONCILE, labels, annotations)
    is_skipped = reconcile == "disabled" or _setting(KUSTOMIZE_SSA, labels, annotations) in _NEVER_APPLIED
    revert = Revert.NEVER if is_skipped else Revert.NEXT_RECONCILIATION
    return GitOpsOwner(GitOpsTool.FLUX_KUSTOMIZATION, _owner_of_labels(KUSTOMIZE, labels), evidence, revert)


def _helm_release(
    labels: Mapping[str, str], annotations: Mapping[str, str], managers: Collection[str]
) -> GitOpsOwner | None:
    evidence = f"label {HELM}/name" if labels.get(f"{HELM}/name") else _manager(_HELM_MANAGER, managers)
    if not evidence:
        return None
    is_ignored = _setting(HELM_DRIFT, labels, annotations) == "disabled"
    revert = Revert.NEXT_RELEASE if is_ignored else Revert.IF_ENABLED
    return GitOpsOwner(GitOpsTool.FLUX_HELM_RELEASE, _owner_of_labels(HELM, labels), evidence, revert)


def _application(
    kind: str, name: str, labels: Mapping[str, str], annotations: Mapping[str, str], managers: Collection[str]
) -> GitOpsOwner | None:
    app, _, tracked = annotations.get(TRACKING_ID, "").partition(":")
    type_, _, key = tracked.partition(":")
    if app and type_.rpartition("/")[2] == kind and key.rpartition("/")[2] == name:
        evidence = f"annotation {TRACKING_ID}"
    elif app := labels.get(_ARGO_INSTANCE, ""):
        evidence = f"label {_ARGO_INSTANCE}"
    else:
        app = labels.get(_INSTANCE, "")
        signs = [f"field manager {manager}" for manager in sorted(_ARGO_MANAGERS.intersection(managers))]
        if app and TRACKING_ID not in annotations:
            signs += [f"annotation {key}" for key in sorted(annotations) if key.startswith(f"{ARGO}/")]
        if not signs:
            return None
        evidence = signs[0]
    return GitOpsOwner(GitOpsTool.ARGO_CD, app.replace("_", "/", 1), evidence, Revert.IF_ENABLED)


def _setting(key: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Return a setting of Flux, which reads it from annotations and labels in any case."""
    return (annotations.get(key) or labels.get(key) or "").lower()


def _owner_of_labels(domain: str, labels: Mapping[str, str]) -> str:
    return "/".join(filter(None, (labels.get(f"{domain}/namespace"), labels.get(f"{domain}/name"))))


def _manager(manager: str, managers: Collection[str]) -> str:
    return f"field manager {manager}" if manager in managers else ""
