from __future__ import annotations

from karptui.decode.kinds import WORKLOAD_KINDS, Kind
from karptui.karpenter.inventory import Inventory
from karptui.kube.workload import Workload
from karptui.state.cluster import FIELDS, inventory_of, objects_of
from tests.builders import a_daemonset, a_pdb, an_event, an_inventory
from tests.builders.clusters import state_of


def test_every_kind_has_its_place_in_the_inventory() -> None:
    assert {*FIELDS, *WORKLOAD_KINDS} == set(Kind)
    assert {*FIELDS.values(), "workloads", "unread"} == set(Inventory.__struct_fields__)


def test_there_and_back_again() -> None:
    workloads = (
        Workload(name="web", namespace="default", api_version="apps/v1", kind="Deployment"),
        Workload(name="web", namespace="default", api_version="apps/v1", kind="ReplicaSet"),
    )
    begin = an_inventory(daemonsets=(a_daemonset(),), pdbs=(a_pdb(),), events=(an_event(),), workloads=workloads)
    again = inventory_of(state_of(begin))
    for field in Inventory.__struct_fields__:
        assert sorted(getattr(again, field), key=id) == sorted(getattr(begin, field), key=id), field
    assert objects_of(again) == objects_of(begin)
