from __future__ import annotations

import pytest

from karptui.kube.gitops import READ_ANNOTATIONS, GitOpsOwner, GitOpsTool, Revert, gitops_owner
from karptui.sources.snapshot.scrub import scrub_metadata
from tests.builders import present

TRACKED = "argocd.argoproj.io/tracking-id"
FLUX = {"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
CHART = {"helm.toolkit.fluxcd.io/name": "pools", "helm.toolkit.fluxcd.io/namespace": "karpenter"}


def owner(
    labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, *managers: str
) -> GitOpsOwner | None:
    return gitops_owner("NodePool", "general", labels or {}, annotations or {}, managers)


@pytest.mark.parametrize(("labels", "annotations", "tool", "name", "revert"), [
    (FLUX, {}, GitOpsTool.FLUX_KUSTOMIZATION, "flux-system/infra", Revert.NEXT_RECONCILIATION),
    (FLUX, {"kustomize.toolkit.fluxcd.io/reconcile": "Disabled"}, GitOpsTool.FLUX_KUSTOMIZATION,
     "flux-system/infra", Revert.NEVER),
    (FLUX | {"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}, {}, GitOpsTool.FLUX_KUSTOMIZATION,
     "flux-system/infra", Revert.NEVER),
    (CHART, {}, GitOpsTool.FLUX_HELM_RELEASE, "karpenter/pools", Revert.IF_ENABLED),
    (CHART, {"helm.toolkit.fluxcd.io/driftDetection": "disabled"}, GitOpsTool.FLUX_HELM_RELEASE, "karpenter/pools",
     Revert.NEXT_RELEASE),
    ({}, {TRACKED: "infra:karpenter.sh/NodePool:karpenter/general"}, GitOpsTool.ARGO_CD, "infra",
     Revert.IF_ENABLED),
    ({}, {TRACKED: "team-a_infra:karpenter.sh/NodePool:karpenter/general"}, GitOpsTool.ARGO_CD, "team-a/infra",
     Revert.IF_ENABLED),
    ({"argocd.argoproj.io/instance": "infra"}, {}, GitOpsTool.ARGO_CD, "infra", Revert.IF_ENABLED),
    ({"app.kubernetes.io/instance": "infra"}, {"argocd.argoproj.io/sync-wave": "2"}, GitOpsTool.ARGO_CD, "infra",
     Revert.IF_ENABLED),
])  # fmt: skip
def test_an_owner_is_found_with_its_name_and_when_it_reverts(
    labels: dict[str, str], annotations: dict[str, str], tool: GitOpsTool, name: str, revert: Revert
) -> None:
    result = present(owner(labels, annotations))
    assert (result.tool, result.name, result.revert) == (tool, name, revert)
    key = result.evidence.partition(" ")[2]
    assert key in labels or key in annotations


@pytest.mark.parametrize(("labels", "annotations"), [
    ({}, {}),
    ({"app.kubernetes.io/instance": "karpenter", "app.kubernetes.io/managed-by": "Helm"}, {}),
    # Copied from another object together with its annotations: Argo CD does not track this one.
    ({}, {TRACKED: "infra:karpenter.sh/NodePool:karpenter/spot"}),
    ({"app.kubernetes.io/instance": "infra"}, {TRACKED: "infra:karpenter.sh/NodePool:karpenter/spot"}),
    ({}, {TRACKED: "infra:apps/Deployment:karpenter/general"}),
    ({}, {TRACKED: "broken"}),
    ({}, {"argocd.argoproj.io/sync-wave": "2"}),
])  # fmt: skip
def test_no_owner_is_found_without_evidence(labels: dict[str, str], annotations: dict[str, str]) -> None:
    assert owner(labels, annotations) is None


@pytest.mark.parametrize(("manager", "tool"), [
    ("argocd-controller", GitOpsTool.ARGO_CD),
    ("argocd-application-controller", GitOpsTool.ARGO_CD),
    ("kustomize-controller", GitOpsTool.FLUX_KUSTOMIZATION),
    ("helm-controller", GitOpsTool.FLUX_HELM_RELEASE),
])  # fmt: skip
def test_a_field_manager_alone_is_evidence(manager: str, tool: GitOpsTool) -> None:
    result = present(owner(None, None, "kubectl-edit", manager))
    assert (result.tool, result.name, result.evidence) == (tool, "", f"field manager {manager}")
    assert owner(None, None, "kubectl-edit", "helm", "karpenter") is None


def test_a_recording_keeps_the_annotations_that_are_read() -> None:
    annotations = dict.fromkeys(READ_ANNOTATIONS, "x") | {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    assert scrub_metadata({"annotations": annotations})["annotations"].keys() == READ_ANNOTATIONS
