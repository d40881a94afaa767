"""The source of Karpenter's settings, as shown by the Types screen and the ledger."""

from __future__ import annotations

from karptui.aws.evidence import Evidence, with_controller
from karptui.aws.region import FactPhase, FactStatus
from karptui.karpenter.controller import ControllerInfo
from karptui.karpenter.settings import parse_settings
from karptui.session.cluster_view import ClusterView
from karptui.views.types.ledger import account_lines
from karptui.views.types.pools import aws_sentence, settings_words, source_lines
from tests.stories import plain_text, pool_of, stories_view, type_of

LIVE = FactStatus(phase=FactPhase.LIVE)
VIEW = stories_view()


def test_the_ledger_names_the_deployment() -> None:
    info = ControllerInfo(title="Deployment kube-system/karpenter", settings={"VM_MEMORY_OVERHEAD_PERCENT": "0.05"})
    view = ClusterView(VIEW.state, {}, evidence=with_controller(Evidence(), info, LIVE))
    trino = pool_of(view, "trino")
    told = plain_text(account_lines(type_of(trino, "r5a.8xlarge"), None, view.evidence.overhead_origin))
    assert "VM overhead 0.05" in told
    assert "Deployment kube-system/karpenter" in told
    lines = plain_text(source_lines(trino.entry, view.evidence, view.prices))
    assert "VM overhead 0.05 (Deployment kube-system/karpenter)" in lines


def test_settings_and_versions_from_flags_are_named() -> None:
    assert settings_words(Evidence()) == []
    explicit = Evidence(settings=parse_settings({"RESERVED_ENIS": "2"}), settings_origin="the configuration")
    info = ControllerInfo(
        title="Deployment a/b",
        version="1.13.0",
        settings={"PREFERENCE_POLICY": "Ignore", "CLUSTER_NAME": "prod", "FEATURE_GATES": "NodeRepair=true"},
        unknown={"MIN_VALUES_POLICY": "Secret s"},
    )
    assert settings_words(with_controller(explicit, info, LIVE)) == [
        "MIN_VALUES_POLICY=? (default: Secret s is not read)",
        "RESERVED_ENIS=2 (the configuration)",
        "PREFERENCE_POLICY=Ignore FEATURE_GATES=NodeRepair=true (Deployment a/b)",
        "Karpenter 1.13.0 is not modelled: the nearest, 1.14.1, is used",
    ]


def test_a_missing_permission_is_shown() -> None:
    gone = FactStatus(
        phase=FactPhase.UNAVAILABLE, sentence="reading Karpenter's settings needs permission to list deployments"
    )
    assert aws_sentence(Evidence(controller_status=gone)) == gone.sentence
