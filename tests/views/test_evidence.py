from __future__ import annotations

from karptui.aws.evidence import Evidence
from karptui.aws.region import Dated, FactKind, FactPhase, FactStatus, RegionFacts
from karptui.karpenter.controller import ControllerInfo
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.session.sources import evidence_rows
from karptui.views.row import Tone
from karptui.views.sources import TABLE
from karptui.views.table import build_rows
from tests.builders import NOW_NS

GONE = FactStatus(phase=FactPhase.UNAVAILABLE, sentence="no AWS credentials")
LIVE = FactStatus(phase=FactPhase.LIVE, as_of_ns=NOW_NS - 60_000_000_000)


def test_sources_has_rows_for_metrics_and_aws() -> None:
    metrics = ControllerMetrics(
        read_at_ns=NOW_NS, endpoint="pod a/b", offerings={OfferingName("a", "z", "spot"): OfferingMetrics(1.0)}
    )
    evidence = Evidence(
        metrics=metrics,
        metrics_status=LIVE,
        facts=RegionFacts(on_demand=Dated({"m5.large": 0.1}, NOW_NS)),
        fact_statuses={FactKind.ON_DEMAND_PRICES: LIVE, FactKind.ZONES: GONE},
    )
    rows = {row.kind: row for row in evidence_rows(evidence, NOW_NS)}
    assert {kind: (row.phase, row.count) for kind, row in rows.items()} == {
        "Karpenter's metrics": ("live", 1),
        "AWS on-demand prices": ("live", 1),
        "AWS zones": ("not available", 0),
    }
    cells = build_rows(TABLE, [rows["AWS zones"]], now_ns=NOW_NS)[0].cells
    assert (cells[1].text, cells[2].text, cells[5].text) == ("not available", "-", "no AWS credentials")
    assert cells[5].tone is Tone.MUTED, "a cluster without AWS is a normal one"


def test_settings_of_the_controller() -> None:
    info = ControllerInfo(title="Deployment a/b", settings={"RESERVED_ENIS": "1"})
    (row,) = evidence_rows(Evidence(controller=info, controller_status=LIVE), NOW_NS)
    assert (row.kind, row.phase, row.count) == ("Karpenter's settings", "live", 1)
    (row,) = evidence_rows(Evidence(controller_status=GONE), NOW_NS)
    assert (row.phase, row.count) == ("not available", 0)
