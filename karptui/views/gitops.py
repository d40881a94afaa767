"""Text about owners in Git: what applies an object, and when it reverts an edit."""

from __future__ import annotations

from typing import Final

from karptui.kube.gitops import GitOpsOwner, GitOpsTool, Revert
from karptui.views.column import Value, one_of
from karptui.views.sanitize import clean

_TOOLS: Final = {
    GitOpsTool.FLUX_KUSTOMIZATION: "Flux Kustomization",
    GitOpsTool.FLUX_HELM_RELEASE: "Flux HelmRelease",
    GitOpsTool.ARGO_CD: "Argo CD Application",
}
_REVERTS: Final = {
    (GitOpsTool.FLUX_KUSTOMIZATION, Revert.NEXT_RECONCILIATION): "reverts the change at its next reconciliation",
    (GitOpsTool.FLUX_HELM_RELEASE, Revert.IF_ENABLED): (
        "reverts the change if its driftDetection is enabled; otherwise an upgrade may"
    ),
    (GitOpsTool.FLUX_HELM_RELEASE, Revert.NEXT_RELEASE): "may revert the change at its next upgrade",
    (GitOpsTool.ARGO_CD, Revert.IF_ENABLED): "reverts the change at once with selfHeal; otherwise its next sync does",
}


def owner_text(owner: GitOpsOwner) -> str:
    """Return the owner's kind and name: ``Flux Kustomization flux-system/infra``."""
    return f"{_TOOLS[owner.tool]} {clean(owner.name)}".rstrip()


def revert_text(owner: GitOpsOwner) -> str:
    """Return whether an owner reverts an edit, and the evidence that it owns the object."""
    if owner.revert is Revert.NEVER:
        return f"{owner_text(owner)} is configured to ignore it ({owner.evidence})"
    reverts = _REVERTS[owner.tool, owner.revert]
    return f"{owner_text(owner)} applies it ({owner.evidence}): if Git sets this field, it {reverts}"


OWNER: Final[tuple[Value[GitOpsOwner], ...]] = (
    Value("tool", lambda owner, _: owner.tool, one_of(*GitOpsTool)),
    Value("name", lambda owner, _: owner.name, str, "With its namespace if known; empty if unknown."),
    Value("evidence", lambda owner, _: owner.evidence, str, "Label, annotation or field manager."),
    Value("revert", lambda owner, _: owner.revert, one_of(*Revert), "When it reverts an edit."),
)
