from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.clock import FrozenClock
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName, PoolMetrics
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.transport import Transport
from karptui.sources.metrics import reading
from karptui.sources.metrics.reading import MetricSample, read_metrics, samples
from karptui.sources.metrics.source import MetricsError, MetricsReader

from .conftest import Answer, KarpenterCluster, pod, service
from .exposition_text import KARPENTER, before_spot_prices, standby

FAMILIES = frozenset({b"f", b"g_total"})
POD_A = "/api/v1/namespaces/kube-system/pods/karpenter-a:8080/proxy/metrics"
SERVICE = "/api/v1/namespaces/kube-system/services/karpenter:http-metrics/proxy/metrics"


def read(text: str) -> list[MetricSample]:
    return list(samples(text.encode(), FAMILIES))


@pytest.mark.parametrize(("line", "labels", "value"), [
    ("f 1", {}, 1.0),
    ("f{} 1", {}, 1.0),
    ("f  1.5e+09  1795259891000", {}, 1.5e9),
    ('f{a="x"} 0.0412', {"a": "x"}, 0.0412),
    ('f{a="x",b="y",} 2', {"a": "x", "b": "y"}, 2.0),
    ('f{ a = "x" , b="y" } 2', {"a": "x", "b": "y"}, 2.0),
    ('f{a=""} 2', {"a": ""}, 2.0),
    ('f{a="}{,="} 2', {"a": "}{,="}, 2.0),
    ('f{a=",b=",c="x"} 2', {"a": ",b=", "c": "x"}, 2.0),
    ('f{a="two words",b="c"} 2', {"a": "two words", "b": "c"}, 2.0),
    (r'f{a="q\"q",b="back\\slash",c="line\nfeed",d="\t"} 2',
     {"a": 'q"q', "b": "back\\slash", "c": "line\nfeed", "d": r"\t"}, 2.0),
    ("f -Inf", {}, float("-inf")),
    ('f{a="é"} 3\r', {"a": "é"}, 3.0),
])  # fmt: skip
def test_lines_are_parsed(line: str, labels: dict[str, str], value: float) -> None:
    assert read(f"# TYPE f gauge\n{line}\n") == [MetricSample("f", labels, value)]


@pytest.mark.parametrize(
    "line",
    ["f", "f{", 'f{a="x"', 'f{a="x} 1', "f{a=x} 1", 'f{a="x" b="y"} 1', "f one", "f 1 2 3", 'f{="x"} 1 2 3', "f{a} 1"],
)
def test_an_unreadable_line_has_no_value(line: str) -> None:
    assert [sample.value for sample in read(f"{line}\ng_total 1\n")] == [None, 1.0]


TEXT = st.text('ab é\t\n"\\{},=#\U0001f600')
"""Text with every special character of the format."""


@given(
    st.dictionaries(st.text("a_", min_size=1, max_size=4), TEXT, max_size=4),
    st.floats(allow_nan=False),
)
def test_text_of_a_registry_is_parsed(labels: dict[str, str], value: float) -> None:
    escaped = {k: v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for k, v in labels.items()}
    inside = ",".join(f'{name}="{text}"' for name, text in escaped.items())
    assert read(f"f{{{inside}}} {value!r}\n") == [MetricSample("f", labels, value)]


@given(st.binary())
def test_parsing_never_fails(text: bytes) -> None:
    list(samples(b"f{" + text + b"\nf " + text, FAMILIES))


NOW = 1_795_259_891_000_000_000


def metrics_of(text: bytes) -> ControllerMetrics:
    return read_metrics(text, endpoint="pod karpenter/karpenter-a", read_at_ns=NOW)


def test_endpoint_version_leader_and_start_time_are_read() -> None:
    metrics = metrics_of(KARPENTER)
    assert (metrics.read_at_ns, metrics.endpoint, metrics.version) == (NOW, "pod karpenter/karpenter-a", "1.14.1")
    assert metrics.started_at_ns == 1_795_219_210_830_000_000
    assert metrics.is_leader
    waiting = metrics_of(standby())
    assert (waiting.is_leader, waiting.offerings, waiting.version) == (False, {}, "1.14.1")
    assert metrics_of(b"process_start_time_seconds 1.7e308\n").started_at_ns == 0, "the start time is out of range"


@pytest.mark.parametrize(("name", "offering"), [
    (("m5.large", "eu-west-1a", "on-demand"), OfferingMetrics(0.107, is_available=True)),
    (("m5.large", "eu-west-1b", "spot"), OfferingMetrics(0.0398, is_available=False)),
    (("r5a.8xlarge", "eu-west-1a", "reserved"), OfferingMetrics(2.032e-07, is_available=True)),
    (("p5e.48xlarge", "eu-west-1a", "on-demand"), OfferingMetrics(None, is_available=False)),
], ids=["available", "not available", "reserved", "price of zero"])  # fmt: skip
def test_offerings_have_prices_and_availability(name: tuple[str, str, str], offering: OfferingMetrics) -> None:
    offerings = metrics_of(KARPENTER).offerings
    assert len(offerings) == 5 * 3 * 3
    assert offerings[OfferingName(*name)] == offering


def test_counters_by_pool() -> None:
    metrics = metrics_of(KARPENTER)
    assert list(metrics.pools) == ["default", "gpu", 'odd "name" \\ with {braces}, and commas']
    assert metrics.pools["default"] == PoolMetrics(
        nodeclaims_created={"provisioned": 43, "underutilized": 7},
        nodeclaims_disrupted={"underutilized": 12},
        nodeclaims_terminated=15,
    )


def test_counters_are_summed_over_other_labels_and_idle_pools_are_listed() -> None:
    text = (
        b'karpenter_nodepools_allowed_disruptions{nodepool="idle",reason="drifted"} 3\n'
        b'karpenter_nodeclaims_disrupted_total{nodepool="general",reason="unhealthy",termination_mode="eventual"} 2\n'
        b'karpenter_nodeclaims_disrupted_total{nodepool="general",reason="unhealthy",termination_mode="forceful"} 1\n'
    )
    pools = read_metrics(text, endpoint="", read_at_ns=0).pools
    assert pools == {"general": PoolMetrics(nodeclaims_disrupted={"unhealthy": 3}), "idle": PoolMetrics()}


def test_spot_prices_count_once_one_differs_from_on_demand() -> None:
    assert metrics_of(KARPENTER).has_spot_prices
    assert not metrics_of(before_spot_prices()).has_spot_prices
    assert not metrics_of(b"").has_spot_prices


def test_unusable_lines_are_skipped() -> None:
    name = b"karpenter_nodeclaims_terminated_total"
    text = name + b"{} 1\n" + name + b'{nodepool="a"} NaN\n' + name + b"{nodepool= 1\n" + name + b'{nodepool="a"} 2\n'
    assert metrics_of(text).pools == {"a": PoolMetrics(nodeclaims_terminated=2)}


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
    other_order = (
        b'karpenter_pods_state{capacity_type="spot",name="a",nodepool="one",phase="Running"} 1\n'
        b'karpenter_pods_state{nodepool="one",owner="nodepool=two",phase="Pending"} 1\n'
        b'karpenter_pods_state{nodepool="one",phase="Failed"} 1\n'
    )
    assert metrics_of(other_order).pods_by_pool == {"one": 2}


def test_passes_that_ran_out_of_time() -> None:
    assert metrics_of(KARPENTER).consolidation_timeouts == {"multi": 0, "single": 0}
    line = b'karpenter_voluntary_disruption_consolidation_timeouts_total{consolidation_type="single"} 41\n'
    assert metrics_of(line).consolidation_timeouts == {"single": 41}


def test_hostile_lines_are_parsed_quickly() -> None:
    hostile = b"karpenter_pods_state{" + b'nodepool="x",' * 30_000 + b"} 1\n"
    began = time.monotonic()
    metrics = read_metrics(hostile + b"f{" + b'a="' * 30_000 + b"\n", endpoint="pod", read_at_ns=1)
    assert metrics.pods_by_pool == {}
    assert time.monotonic() - began < 2


def test_the_number_of_offerings_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_NAMES", 2)
    labels = b'{instance_type="m%d",zone="a",capacity_type="s"}'
    line = b"karpenter_cloudprovider_instance_type_offering_price_estimate" + labels + b" 1\n"
    metrics = read_metrics(b"".join(line % number for number in range(5)), endpoint="pod", read_at_ns=1)
    assert len(metrics.offerings) == 2


@pytest.fixture
def reader(client: Transport) -> MetricsReader:
    return MetricsReader(client, now_ns=FrozenClock(42).now_ns, read_seconds=5)


def test_reads_the_leader(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    metrics = reader.read()
    assert (metrics.endpoint, metrics.read_at_ns) == ("pod kube-system/karpenter-a", 42)
    assert len(metrics.offerings) == 45
    assert cluster.accepted[-1] == "text/plain;version=0.0.4"


def test_skips_standby_replicas_and_remembers_the_leader(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.pods(pod("karpenter-a"), pod("karpenter-b"))
    cluster.metrics("pods/karpenter-a:8080", standby())
    cluster.metrics("pods/karpenter-b:8080", KARPENTER)
    assert reader.read().endpoint == "pod kube-system/karpenter-b"
    cluster.paths.clear()
    assert reader.read().endpoint == "pod kube-system/karpenter-b"
    assert cluster.paths == ["/api/v1/namespaces/kube-system/pods/karpenter-b:8080/proxy/metrics"]


def test_the_service_is_asked_until_the_leader_answers(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.refuse_lists("pods")
    cluster.metrics("services/karpenter:http-metrics", standby(), standby(), KARPENTER)
    assert reader.read().endpoint == "service kube-system/karpenter"
    assert cluster.paths.count(SERVICE) == 3
    cluster.metrics("services/karpenter:http-metrics", standby())
    with pytest.raises(MetricsError):
        reader.read()
    assert cluster.paths.count(SERVICE) == 3 + 1 + 4, (
        "expected one request to the known leader and four of a new search"
    )


def stands_by(cluster: KarpenterCluster) -> None:
    cluster.metrics("pods/karpenter-a:8080", standby())
    cluster.metrics("services/karpenter:http-metrics", standby())


def is_absent(cluster: KarpenterCluster) -> None:
    cluster.pods()
    cluster.services()


def may_not_be_listed(cluster: KarpenterCluster) -> None:
    cluster.refuse_lists("pods")
    cluster.refuse_lists("services")


def may_not_be_asked(cluster: KarpenterCluster) -> None:
    cluster.refuse(POD_A)
    cluster.refuse(SERVICE)


def is_out_of_reach(cluster: KarpenterCluster) -> None:
    cluster.services()
    cluster.refuse(POD_A, 503, "dial tcp 10.0.0.7:8080: i/o timeout")


def refuses(cluster: KarpenterCluster) -> None:
    cluster.services(service(ports=[]))
    cluster.refuse(POD_A, 400, "bad port")


def hangs_up(cluster: KarpenterCluster) -> None:
    cluster.answers[POD_A] = lambda call: call.cut()


@pytest.mark.parametrize(("fault", "sentence"), [
    (stands_by, "only a standby replica of Karpenter answered"),
    (is_absent, r"labelled app.kubernetes.io/name=karpenter.*not at all"),
    (may_not_be_listed, "permission to list pods or services"),
    (may_not_be_asked, "pods/proxy or services/proxy"),
    (is_out_of_reach, r"cannot reach pod kube-system/karpenter-a.*i/o timeout.*security group"),
    (refuses, r"pod kube-system/karpenter-a refuses to return its metrics.*bad port"),
    (hangs_up, "pod kube-system/karpenter-a did not return metrics"),
])  # fmt: skip
def test_without_metrics_the_error_has_the_reason(
    reader: MetricsReader, cluster: KarpenterCluster, fault: Callable[[KarpenterCluster], None], sentence: str
) -> None:
    fault(cluster)
    with pytest.raises(MetricsError, match=sentence):
        reader.read()


def test_other_errors_of_the_search_are_raised(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.refuse_lists("pods", 500, "etcd is down")
    cluster.refuse_lists("services", 500)
    with pytest.raises(ApiError, match="etcd is down"):
        reader.read()


@pytest.mark.parametrize("now", [
    lambda call: call.error(404, "not found"),
    lambda call: call.text(standby()),
    lambda call: call.cut(),
], ids=["gone", "stands by", "silent"])  # fmt: skip
def test_a_new_leader_is_found_if_the_known_one_fails(
    reader: MetricsReader, cluster: KarpenterCluster, now: Answer
) -> None:
    reader.read()
    cluster.pods(pod("karpenter-b"))
    cluster.metrics("pods/karpenter-b:8080", KARPENTER)
    cluster.answers[POD_A] = now
    assert reader.read().endpoint == "pod kube-system/karpenter-b"
