from __future__ import annotations

from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName, PoolMetrics
from karptui.sources.metrics.reading import read_metrics

from .exposition_text import KARPENTER, before_spot_prices, standby

NOW = 1_795_259_891_000_000_000


def metrics_of(text: bytes) -> ControllerMetrics:
    return read_metrics(text, endpoint="pod karpenter/karpenter-a", read_at_ns=NOW)


def test_says_who_answered_and_since_when_it_counts() -> None:
    metrics = metrics_of(KARPENTER)
    assert (metrics.read_at_ns, metrics.endpoint, metrics.version) == (NOW, "pod karpenter/karpenter-a", "1.14.1")
    assert metrics.started_at_ns == 1_795_219_210_830_000_000
    assert metrics.is_leader
    assert metrics.unreadable_lines == 0


def test_offerings_have_prices_and_availability() -> None:
    offerings = metrics_of(KARPENTER).offerings
    assert len(offerings) == 5 * 3 * 3
    assert offerings[OfferingName("m5.large", "eu-west-1a", "on-demand")] == OfferingMetrics(0.107, True)
    assert offerings[OfferingName("m5.large", "eu-west-1b", "spot")] == OfferingMetrics(0.0398, False)
    assert offerings[OfferingName("r5a.8xlarge", "eu-west-1a", "reserved")] == OfferingMetrics(2.032e-07, True)


def test_a_price_of_zero_is_no_price() -> None:
    offerings = metrics_of(KARPENTER).offerings
    assert offerings[OfferingName("p5e.48xlarge", "eu-west-1a", "on-demand")] == OfferingMetrics(None, False)


def test_types_have_their_advertised_size() -> None:
    metrics = metrics_of(KARPENTER)
    assert metrics.cpu_cores["r5a.8xlarge"] == 32
    assert metrics.memory_bytes["r5a.8xlarge"] == 256 << 30


def test_pools() -> None:
    metrics = metrics_of(KARPENTER)
    assert list(metrics.pools) == ["default", "gpu", 'odd "name" \\ with {braces}, and commas']
    assert metrics.pools["default"] == PoolMetrics(
        usage={"cpu": 38.5, "ephemeral_storage": 53687091200.0, "memory": 164960000000.0},
        limit={"cpu": 1000.0},
        allowed_disruptions={"Drifted": 0, "Underutilized": 2},
        nodes_consuming_budgets={"Drifted": 1},
        nodeclaims_created={"provisioned": 43, "underutilized": 7},
        nodeclaims_disrupted={"underutilized": 12},
        nodeclaims_terminated=15,
        nodes_created=48,
        cost_per_hour=1.2345,
    )


def test_a_replica_that_stands_by_says_so() -> None:
    metrics = metrics_of(standby())
    assert not metrics.is_leader
    assert not metrics.offerings
    assert metrics.version == "1.14.1"


def test_without_leader_election_whoever_answers_leads() -> None:
    assert metrics_of(b'karpenter_build_info 1\nleader_election_master_status{name="other"} 0\n').is_leader


def test_spot_prices_count_once_one_differs_from_on_demand() -> None:
    assert metrics_of(KARPENTER).has_spot_prices
    assert not metrics_of(before_spot_prices()).has_spot_prices
    assert not metrics_of(b"").has_spot_prices


def test_counts_what_it_cannot_use() -> None:
    text = (
        b'karpenter_nodepools_usage{nodepool="a"} 1\n'
        b'karpenter_nodepools_usage{nodepool="a",resource_type="cpu"} NaN\n'
        b"karpenter_nodepools_usage{nodepool= 1\n"
        b'karpenter_nodepools_usage{nodepool="a",resource_type="cpu"} 2\n'
    )
    metrics = metrics_of(text)
    assert metrics.unreadable_lines == 3
    assert metrics.pools["a"].usage == {"cpu": 2.0}


def test_pods_are_counted_by_pool() -> None:
    def line(pool: str, phase: str) -> bytes:
        labels = f'arch="amd64",name="a",node="n",nodepool="{pool}",owner="/apis/apps/v1",phase="{phase}",ready="true"'
        return f"karpenter_pods_state{{{labels}}} 1\n".encode()

    text = (
        line("b", "Running")
        + line("a", "Running")
        + line("a", "Pending")
        + line("a", "Succeeded")
        + line("", "Pending")
    )
    assert metrics_of(text).pods_by_pool == {"a": 2, "b": 1}
    assert metrics_of(KARPENTER).pods_by_pool == {}


def test_passes_that_ran_out_of_time() -> None:
    assert metrics_of(KARPENTER).consolidation_timeouts == {"multi": 0, "single": 0}
    line = b'karpenter_voluntary_disruption_consolidation_timeouts_total{consolidation_type="single"} 41\n'
    assert metrics_of(line).consolidation_timeouts == {"single": 41}
