"""Texts and rows of the Types screen: stories C and D, filters, offerings, prices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
import pytest

from karptui.aws.evidence import Evidence
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.region import Dated, FactKind, FactPhase, FactStatus, RegionFacts
from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.settings import parse_settings
from karptui.kube.quantity import parse_quantity
from karptui.session.cluster_view import ClusterView
from karptui.session.pool_types import offered_types_of
from karptui.session.type_reader import TypeReader
from karptui.session.types import Availability, TypeEntry
from karptui.session.types_of_pools import TypesOfPool, pool_entries
from karptui.views.table import Sort, build_rows
from karptui.views.types.columns import types_table
from karptui.views.types.ledger import account_lines, fit_lines, observed_lines, offering_grid, title_pieces
from karptui.views.types.pools import TABLE, aws_sentence, filter_lines, finding_lines, note_of, reason_lines
from tests import builders
from tests.aws.builders import a_nodeclass
from tests.builders import present
from tests.builders.clusters import state_of
from tests.stories import AT_NS, plain_text, pool_of, stories_view, type_of


@cache
def whole_view() -> ClusterView:
    return stories_view()


@cache
def trino() -> TypesOfPool:
    return pool_of(whole_view(), "trino")


@cache
def small() -> TypesOfPool:
    return pool_of(whole_view(), "small")


@cache
def big() -> TypeEntry:
    return type_of(trino(), "r5a.8xlarge")


def offering(zone: str, capacity_type: str, price: float = 1.0, *, is_available: bool = True) -> Offering:
    return Offering(requirements=(builders.a_requirement("topology.kubernetes.io/zone", "In", zone),
                                  builders.a_requirement("karpenter.sh/capacity-type", "In", capacity_type)),
                    price_per_hour=price, is_available=is_available)  # fmt: skip


# Story D


def test_story_d_memory_ledger() -> None:
    account = plain_text(account_lines(big(), trino().fit(big()), whole_view().evidence.overhead_origin))
    figures = {line[:17].strip(): line[17:].split()[0] for line in account.splitlines()[1:]}
    assert figures == {
        "advertised": "262,144", "VM overhead 0.075": "−19,661", "capacity": "242,483", "kubeReserved": "−2,829",
        "eviction": "−100", "allocatable": "239,554", "DaemonSets (3)": "−640", "largest pod": "238,914",
        "asked": "245,760", "✘ short by": "6,846",
    }  # fmt: skip
    assert "256Gi by EC2" in account
    assert max(map(len, account.splitlines())) <= 76


def test_story_d_alternatives_that_fit() -> None:
    fit = present(trino().fit(big()))
    assert fit.short["memory"] == parse_quantity("6846Mi")
    assert fit.overhead_percent == 0.0488
    assert present(fit.next_type).name == "r5a.12xlarge"
    assert plain_text(fit_lines(big(), trino().fit(big()))).splitlines() == [
        "✘ trino/worker-0 does not fit: memory short by 6,846Mi",
        "  → fits with VM_MEMORY_OVERHEAD_PERCENT ≤ 0.0488",
        "  → or with a pod of at most 238,914Mi (233Gi)",
        "  → or on the next type that fits: r5a.12xlarge $2.7120/h",
        "  · a NodeOverlay cannot change memory, only prices and extended resources",
    ]


@pytest.mark.parametrize(("percent", "fits"), [("0.0488", True), ("0.0489", False)])
def test_story_d_fits_from_the_suggested_overhead_percent_on(percent: str, fits: bool) -> None:
    view = ClusterView(
        whole_view().state, {}, evidence=Evidence(settings=parse_settings({"VM_MEMORY_OVERHEAD_PERCENT": percent}))
    )
    assert type_of(pool_of(view, "trino"), "r5a.8xlarge").is_left is fits


def test_a_fitting_pod_and_a_type_without_a_pod() -> None:
    larger = type_of(trino(), "r5a.12xlarge")
    assert plain_text(fit_lines(larger, trino().fit(larger))) == "✔ trino/worker-0 fits"
    assert "so there is no pod to compare with" in plain_text(fit_lines(type_of(small(), "t3.large"), None))


# Story C


def test_filters_with_counts_and_reasons() -> None:
    lines = plain_text(filter_lines(small().entry)).splitlines()
    assert lines[0] == (
        f"{len(small().types):,} types −{len(small().types) - 21:,} requirements −7 DaemonSets do not fit"
        " −2 no pod fits after them = 12 left"
    )
    assert lines[1:] == ["a new node carries 11 ds 460m 896Mi"]
    assert plain_text(reason_lines(small().entry)).splitlines() == [
        f"requirements: karpenter.k8s.aws/instance-family In [t3 t3a t4g] −{len(small().types) - 21:,}",
        ("DaemonSets do not fit: t3.micro has 4 pod slots, t3.nano has 4 pod slots, t3a.micro has 4 pod slots and 4 "
         "more"),
        "no pod fits after them: pods −2",
    ]  # fmt: skip


def test_findings_name_their_remedy() -> None:
    text = plain_text(finding_lines(small().entry))
    assert "NodePool small: 9 of 21 types have no pod slot left after the DaemonSets" in text
    assert "EC2NodeClass small: userData sets maxPods 110" in text
    assert "→ Set spec.kubelet.maxPods: 110" in text
    flex = pool_of(whole_view(), "flex")
    assert "* is not a wildcard" in plain_text(finding_lines(flex.entry))
    assert note_of(flex.entry)[0] == "none left: requirements"


# Pools, tables, values


def test_entries_are_reused_if_nothing_relevant_changes() -> None:
    first = pool_entries(whole_view())
    assert pool_entries(ClusterView(whole_view().state, {}, whole_view(), evidence=whole_view().evidence)) is first
    assert offered_types_of(whole_view()).nodeclasses.notes == (
        "no spot prices are known: spot is simulated at the on-demand price, an upper bound",
    )


def test_pool_rows() -> None:
    rows = build_rows(TABLE, pool_entries(whole_view()), now_ns=AT_NS)
    cells = {row.key: [cell.text for cell in row.cells] for row in rows}
    assert cells["trino"][3:] == ["8", "8", "8", "3", "3", "3 ds 300m 640Mi", "r5a.12xlarge $2.7120", "-"]
    assert cells["flex"][3:8] == ["0"] * 5
    assert TABLE.values(trino().entry, AT_NS)["left_after_pod"] == 3
    assert TABLE.values(trino().entry, AT_NS)["cheapest_price_per_hour"] == 2.712
    assert TABLE.values(pool_of(whole_view(), "flex").entry, AT_NS)["cheapest"] is None
    assert pool_of(whole_view(), "flex").entry.first is None
    for column in TABLE.columns:
        build_rows(TABLE, pool_entries(whole_view()), sort=Sort(column.heading.id), now_ns=AT_NS)


def test_rows_of_types() -> None:
    table = types_table()
    rows = build_rows(table, trino().wanted, now_ns=AT_NS)
    assert [cell.text for cell in rows[0].cells] == [
        "r5a.12xlarge", "1", "48", "384Gi/360,795Mi", "234", "3 ds 300m 640Mi 0%", "47.5 360,155Mi", "od 1a 1b",
        "$2.7120", "n/a", "0", "✔",
    ]  # fmt: skip
    for column in table.columns:
        build_rows(table, small().types, sort=Sort(column.heading.id), now_ns=AT_NS)[:]
    assert [heading.id for heading in types_table(has_prices=False).headings()].count("od") == 0


# Offerings and prices


def metrics_saying(**available: bool) -> ControllerMetrics:
    names = [OfferingName("r5a.12xlarge", f"us-east-1{letter}", "on-demand") for letter in "ab"]
    return ControllerMetrics(
        read_at_ns=AT_NS,
        endpoint="pod karpenter/k-1",
        offerings={
            OfferingName("t3.large", "us-east-1a", "on-demand"): OfferingMetrics(0.08, True),
            **{name: OfferingMetrics(2.5, available.get(name.zone[-1], True)) for name in names},
        },
    )


def test_sold_out_offerings_are_struck_through_and_labelled() -> None:
    view = stories_view(metrics=metrics_saying(a=False))
    entry = type_of(pool_of(view, "trino"), "r5a.12xlarge")
    grid = offering_grid(entry)
    assert grid.capacity_types == ("on-demand", "spot")
    zones = {zone: squares[0] for zone, squares in grid.rows}
    assert (zones["us-east-1a"].text, zones["us-east-1a"].is_struck) == ("$2.5000 sold out", True)
    assert (zones["us-east-1b"].text, zones["us-east-1b"].is_struck) == ("$2.5000", False)
    assert grid.widths[1] == len("$2.5000 sold out")
    assert entry.offered == {"on-demand": ("us-east-1b",)}
    assert present(entry.on_demand).origin.label == "Karpenter's metrics, 2026-11-20 12:00 UTC"


def test_only_known_spot_prices_are_shown() -> None:
    spot: Dated[Mapping[str, Mapping[str, float]]] = Dated({"t3.large": {"use1-az4": 0.03}}, AT_NS)
    subnets = SubnetZone("us-east-1a", "use1-az4"), SubnetZone("us-east-1b", "use1-az6")
    zones: Dated[tuple[SubnetZone, ...]] = Dated(subnets, AT_NS)
    view = stories_view(facts=RegionFacts(region="us-east-1", spot=spot, zones=zones))
    entry = type_of(pool_of(view, "small"), "t3.large")
    assert present(entry.spot).per_hour == 0.03
    squares = dict(offering_grid(entry).rows)
    assert [square.text for square in squares["us-east-1a"]] == ["$0.0832", "$0.0300"]
    assert squares["us-east-1b"][1].text == "n/a no price"
    assert type_of(pool_of(view, "small"), "t3.medium").spot is None


NO_LOGIN = FactStatus(phase=FactPhase.UNAVAILABLE, sentence="no AWS credentials: the built-in list is used")
BUSY = FactStatus(phase=FactPhase.UNAVAILABLE, sentence="throttled")
LIVE = FactStatus(phase=FactPhase.LIVE, as_of_ns=AT_NS)


@pytest.mark.parametrize(("given", "sentence"), [
    ({}, ""),
    ({"fact_statuses": dict.fromkeys(FactKind, NO_LOGIN)}, NO_LOGIN.sentence),
    ({"fact_statuses": {FactKind.ZONES: NO_LOGIN, FactKind.OFFERINGS: BUSY, FactKind.SUBNETS: LIVE}},
     "AWS does not return zones, offerings (see :sources)"),
    ({"metrics_status": BUSY, "fact_statuses": {FactKind.ZONES: LIVE}}, "throttled"),
])  # fmt: skip
def test_without_aws_a_text_gives_the_reason(given: dict[str, Any], sentence: str) -> None:
    assert aws_sentence(Evidence(**given)) == sentence


# Other clusters


def a_view(*, types: tuple[InstanceType, ...] | None = None, pool: Any = None, **inventory: Any) -> ClusterView:
    state = state_of(Inventory(nodepools=(pool or builders.a_nodepool(),), **inventory))
    return ClusterView(state, {}, evidence=Evidence(instance_types=types, taken_at_ns=AT_NS))


def test_an_unknown_nodeclass() -> None:
    entry = pool_of(a_view(), "general")
    why = "EC2NodeClass default was not read, and no node shows its zone"
    assert note_of(entry.entry)[0] == why
    assert plain_text(filter_lines(entry.entry)) == f"✘ {why}"
    assert build_rows(TABLE, [entry.entry], now_ns=0)[0].cells[3].text == "-"


def test_types_of_other_clouds_are_read_from_nodes() -> None:
    pool = builders.a_nodepool(node_class_ref=NodeClassRef("karpenter.azure.com", "AKSNodeClass", "default"))
    view = a_view(pool=pool,
                  nodes=(builders.a_node(instance_type="Standard_D4s_v5", zone="eastus-1", memory="13Gi",
                                         capacity={"cpu": "4", "memory": "16Gi", "pods": "110"}),
                         builders.a_node(name="node-2", instance_type="Standard_D4s_v5", zone="eastus-2", memory="12Gi",
                                         capacity={"cpu": "4", "memory": "15Gi", "pods": "110"})))  # fmt: skip
    entry = pool_of(view, "general")
    (only,) = entry.types
    assert (only.name, only.is_left, only.ledger, only.on_demand) == ("Standard_D4s_v5", True, None, None)
    assert types_table(entry.name, entry.fit).values(only, AT_NS)["mem_allocatable_bytes"] == 12 << 30
    assert only.offered == {"on-demand": ("eastus-1", "eastus-2")}
    assert entry.entry.origin.startswith("from nodes")
    account = plain_text(account_lines(only, None, view.evidence.overhead_origin))
    assert "advertised" not in account
    assert "2 nodes report 15,360Mi of memory (the least of up to 16,384Mi)" in plain_text(
        observed_lines(entry.entry, only)
    )
    assert types_table(entry.name, entry.fit).values(only, AT_NS)["mem_advertised_bytes"] is None
    nothing = pool_of(a_view(pool=pool), "general")
    assert note_of(nothing.entry)[0] == "AKSNodeClass default: its types are unknown, and no node shows them"


def a_type(name: str, *offerings: Offering, memory: str = "8Gi", reserved: str = "1Gi") -> InstanceType:
    return InstanceType(
        name=name,
        requirements=(builders.a_requirement("node.kubernetes.io/instance-type", "In", name),),
        capacity=builders.amounts({"cpu": "2", "memory": memory, "pods": "10"}),
        overhead=Overhead(kube_reserved=builders.amounts({"memory": reserved})),
        offerings=offerings,
    )


def test_types_that_came_with_a_snapshot() -> None:
    types = (
        a_type("a", offering("z-1", "on-demand", 0.5), offering("z-1", "spot", 0.2)),
        a_type("b", offering("z-1", "on-demand", 0.1, is_available=False)),
        a_type("c", offering("z-1", "on-demand", 0.3), reserved="9Gi"),
        a_type("d", offering("z-1", "spot", 0.3)),
    )
    entry = pool_of(a_view(types=types), "general")
    assert [(item.name, item.removed_by) for item in entry.types] == [
        ("a", None), ("b", "offerings"), ("c", "reserved"), ("d", "offerings"),
    ]  # fmt: skip
    first = entry.types[0]
    assert present(first.on_demand).origin.label == "snapshot, 2026-11-20 12:00 UTC"
    assert [offer.availability for offer in first.offers] == [Availability.OFFERED, Availability.NOT_ALLOWED]
    assert [offer.availability for offer in entry.types[1].offers] == [Availability.UNAVAILABLE]
    assert (
        types_table(entry.name, entry.fit).values(entry.types[2], AT_NS)["why"]
        == "reserved > node: memory short by 1,024Mi"
    )


def test_hostile_names_are_cleaned() -> None:
    evil = "\x1b[31mevil\u202e[bold]"
    types = (a_type(evil, offering("z-1", "on-demand", 0.5)),)
    entry = pool_of(a_view(types=types, pool=builders.a_nodepool(name=evil)), evil)
    row = build_rows(types_table(), entry.types, now_ns=0)[0]
    texts = [cell.text for cell in row.cells]
    texts += [plain_text([title_pieces(entry.entry, entry.types[0])]), plain_text(filter_lines(entry.entry))]
    assert not any("\x1b" in text or "\u202e" in text for text in texts)


def test_expressions_are_next_to_their_results() -> None:
    nodeclass = a_nodeclass(kubelet={"maxPods": "vcpus * 2", "systemReserved": {"cpu": "vcpus * 31"}})
    settings = parse_settings({"AWS_FEATURE_GATES": "NodeClassCEL=true"}, "v1.15.1")
    verdict = next(verdict for verdict in trino().pool_types.verdicts if verdict.instance_type.name == big().name)
    context = msgspec.structs.replace(trino().context, nodeclass=nodeclass, settings=settings)
    lines = plain_text(account_lines(TypeReader(context, verdict, {}).read(), None, "")).splitlines()
    assert next(line for line in lines if line.startswith("capacity")).endswith("as planned, pods 64 = vcpus * 2")
    assert next(line for line in lines if line.startswith("systemReserved")).endswith("cpu 1000m = vcpus * 31")
