from __future__ import annotations

from karptui.kube.quantity import parse_quantity
from karptui.kube.resources import Shortage
from karptui.provisioning.node_refusal import NodeRefusal
from karptui.provisioning.rejection import PlacementGate
from karptui.views.pending.gates import NODES_TABLE
from karptui.views.table import build_rows
from tests.builders import NOW_NS

REFUSALS = (
    NodeRefusal("ip-10-0-1-2.ec2.internal", PlacementGate.ROOM,
                shortages=(Shortage("memory", parse_quantity("32Gi"), parse_quantity("7374324Ki")),
                           Shortage("cpu", parse_quantity("5"), parse_quantity("2")))),
    NodeRefusal("n2", PlacementGate.TAINTS, "does not tolerate [team=x]"),
)  # fmt: skip


def test_a_row_for_every_node_by_what_rules_it_out() -> None:
    rows = build_rows(NODES_TABLE, REFUSALS, now_ns=NOW_NS)
    assert [[cell.text for cell in row.cells] for row in rows] == [
        ["ip-10-0-1-2.ec2.internal", "memory and cpu", "memory 32Gi asked, 7,201Mi left; cpu 5000m asked, 2000m left"],
        ["n2", "taint", REFUSALS[1].reason],
    ]
    assert rows[0].cells[0].short == "ip-10-0-1-2"
