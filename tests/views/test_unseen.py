from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import msgspec
import pytest

from karptui.aws.prices import Price, PriceOrigin, PriceSource
from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.live_usage import Sample, Used
from karptui.kube.node import Node
from karptui.kube.objects import OwnerReference
from karptui.kube.pod import Pod, PodTemplate
from karptui.session.claims import ClaimEntry
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.session.pods import PodEntry
from karptui.state.usage import NodeUsage
from karptui.views.claims.columns import TABLE as CLAIMS
from karptui.views.claims.sentences import claim_sentences
from karptui.views.column import NOTHING, Column, Heading, Words, cell_words
from karptui.views.nodes.columns import nodes_table
from karptui.views.pods import TABLE as PODS
from karptui.views.row import NOT_APPLICABLE, Cell, Pieces, Tone
from karptui.views.table import Sort, TableSpec
from tests.ui.fleet import HOUR, NOW_NS, SECOND, amounts

LABELS = {
    karpenter_labels.NODEPOOL: "general",
    karpenter_labels.INSTANCE_TYPE: "m5.large",
    karpenter_labels.CAPACITY_TYPE: "on-demand",
    karpenter_labels.ZONE: "us-east-1a",
    karpenter_labels.ARCH: "arm64",
    "example.com/team": "web\x1b[31m",
}
ALLOCATABLE = amounts(cpu="4", memory="8Gi", pods="10", **{"ephemeral-storage": "20Gi", "nvidia.com/gpu": "2"})

ORIGIN = PriceOrigin(PriceSource.BUILT_IN, NOW_NS)


def said(words: str, tone: Tone = Tone.NORMAL, *, joins: bool = False) -> tuple[str, Words[str]]:
    return words, Words(0, lambda item, now_ns: (f"{words}{item}{now_ns}", tone), joins=joins)


def facts_of(columns: Sequence[tuple[str, Words[str]]], unseen: Container[str], item: str, now_ns: int) -> list[str]:
    """Return the facts of a table with these columns, whose places are in their order."""
    made = tuple(
        Column(
            Heading(name, name),
            lambda _i, _n: Cell(""),
            lambda _: None,
            words=msgspec.structs.replace(words, place=place),
        )
        for place, (name, words) in enumerate(columns)
    )
    spec = TableSpec("things", made[::-1], key=str, default_sort=Sort("a"), text=str)
    return texts(spec.facts_without_room(unseen, item, now_ns))


def texts(facts: tuple[Pieces, ...]) -> list[str]:
    return ["".join(text for text, _ in fact) for fact in facts]


def words_of(spec: TableSpec[Any], item: Any, *seen: str) -> list[str]:
    unseen = {heading.id for heading in spec.headings()} - set(seen)
    return texts(spec.facts_without_room(unseen, item, NOW_NS))


class TestWhichFactsAreTold:
    def test_only_those_of_columns_that_are_not_drawn_in_their_order(self) -> None:
        columns = (said("b"), said("a"), said("c"))
        assert facts_of(columns, {"a", "b"}, "-", 7) == ["b-7", "a-7"]
        assert facts_of(columns, (), "-", 7) == []

    def test_those_that_warn_come_first(self) -> None:
        columns = (said("a"), said("b", Tone.WARNING), said("c"), said("d", Tone.FAULT))
        assert facts_of(columns, set("abcd"), "", 0) == ["b0", "d0", "a0", "c0"]

    def test_nothing_is_told_of_what_is_not_there(self) -> None:
        assert facts_of([("a", Words(0, lambda _i, _n: NOTHING))], {"a"}, "", 0) == []

    @pytest.mark.parametrize(
        ("unseen", "facts"),
        [
            ("abc", ["x0", "a0 b0 c0"]),
            ("bc", ["x0", "b0 c0"]),
            ("ac", ["x0", "a0 c0"]),
            ("c", ["x0", "c0"]),
        ],
    )
    def test_what_belongs_together_is_one_fact(self, unseen: str, facts: list[str]) -> None:
        columns = (said("x"), said("a"), said("b", joins=True), said("c", joins=True))
        assert facts_of(columns, {"x", *unseen}, "", 0) == facts


def test_a_cell_between_words() -> None:
    assert cell_words(Cell("1/2   5%", Tone.WARNING), "gpu ", " a") == ("gpu 1/2 5% a", Tone.WARNING)
    assert cell_words(NOT_APPLICABLE, "gpu ") == NOTHING


def a_claim(**given: Any) -> NodeClaim:
    known: dict[str, Any] = {"name": "c1", "labels": LABELS, "created_ns": NOW_NS - HOUR, "image_id": "ami-1"}
    return NodeClaim(**(known | given))


def a_node(**given: Any) -> NodeEntry:
    node = Node(name="n1", labels=LABELS, allocatable=ALLOCATABLE, capacity=ALLOCATABLE, created_ns=NOW_NS - HOUR)
    claim = a_claim(allocatable=amounts(cpu="4", memory="8Gi", pods="10"), expire_after_ns=73 * HOUR)
    usage = NodeUsage(workload=amounts(pods="1", ephemeral="2Gi"))
    return NodeEntry(**({"node": node, "claim": claim, "usage": usage} | given))


def a_price(**given: Any) -> Price:
    usual: dict[str, Any] = {"per_hour": 0.0961, "listed_per_hour": 0.0961, "currency": "USD", "origin": ORIGIN}
    return Price(**{**usual, **given})


SPEC = nodes_table(("example.com/team",))


class TestNodes:
    def test_what_is_asked_first_in_trouble_comes_first(self) -> None:
        sample = Sample(NOW_NS - 20 * SECOND, 400, 2 << 30)
        used = Used(sample, 400, 2 << 30, 1, sample.at_ns)
        assert words_of(SPEC, a_node(price=a_price(), used=used)) == [
            "$0.0961/h",
            "1/10 pods",
            "m5.large on-demand us-east-1a",
            "Δ claim 0",
            "team=web␛[31m",
            "free 4000m 8,192Mi",
            "expires in 3d",
            "gpu 0/2",
            "age 60m",
            "ephemeral 2/20Gi 10%",
            "used cpu 400m mem 2,048Mi 20s ago",
            "arm64",
            "image ami-1",
        ]

    def test_what_is_less_than_promised_comes_before_everything(self) -> None:
        smaller = a_node(claim=a_claim(allocatable=amounts(cpu="4", memory="9Gi", pods="14")))
        assert words_of(SPEC, smaller)[:2] == ["Δ claim −1,024Mi −4 pods", "price n/a"]

    @pytest.mark.parametrize(
        ("entry", "fact"),
        [
            (a_node(access=PodAccess.FORBIDDEN), "!rbac/10 pods"),
            (a_node(access=PodAccess.FORBIDDEN), "ephemeral !rbac/20Gi"),
            (a_node(claim=a_claim()), "never expires"),
            (a_node(claim=a_claim(expire_after_ns=HOUR)), "expiry is due"),
            (a_node(price=a_price(currency="CNY")), "¥0.0961/h"),
            (NodeEntry(None, a_claim(labels={karpenter_labels.ZONE: "us-east-1b"})), "us-east-1b"),
        ],
    )
    def test_corners(self, entry: NodeEntry, fact: str) -> None:
        assert fact in words_of(SPEC, entry)

    def test_ephemeral_storage_that_nobody_asks_for_is_nothing_to_tell(self) -> None:
        assert not [fact for fact in words_of(SPEC, a_node(usage=NodeUsage())) if "ephemeral" in fact]

    def test_a_claim_that_is_nothing_yet_has_nothing_to_tell(self) -> None:
        assert words_of(SPEC, NodeEntry(None, a_claim(labels={}, image_id="", created_ns=0)), "age") == [
            "never expires"
        ]
        assert words_of(SPEC, NodeEntry(Node(name="n1"), None), "price", "age") == []

    @pytest.mark.parametrize("kind", ["spot", "reserved"])
    def test_the_capacity_type_keeps_its_tone(self, kind: str) -> None:
        entry = NodeEntry(None, a_claim(labels={karpenter_labels.CAPACITY_TYPE: kind}))
        assert SPEC.facts_without_room({"cap"}, entry, NOW_NS) == (((kind, Tone(kind)),),)

    def test_nothing_is_told_of_columns_that_were_not_asked_for(self) -> None:
        spec = nodes_table(has_prices=False, resources=("cpu",))
        assert not {"price", "pods", "gpu", "ephemeral"} & {heading.id for heading in spec.headings()}
        assert words_of(spec, a_node(price=a_price()))[0] == "m5.large on-demand us-east-1a"

    def test_nothing_is_told_of_columns_that_are_drawn(self) -> None:
        assert words_of(SPEC, a_node(), *(heading.id for heading in SPEC.headings())) == []


class TestPods:
    @staticmethod
    def a_pod(**template: Any) -> PodEntry:
        made = PodTemplate(**({"namespace": "web", "requests": amounts(**{"nvidia.com/gpu": "2"})} | template))
        return PodEntry(Pod(name="p", template=made, node_name="n1", created_ns=NOW_NS - HOUR), "general")

    def test_what_the_sentence_does_not_tell(self) -> None:
        owners = (OwnerReference("apps/v1", "DaemonSet", "cni", controller=True),)
        entry = self.a_pod(owners=owners, priority=2_000_001_000)
        assert words_of(PODS, entry) == ["owned by ds/cni", "requests 2 GPUs", "priority 2000001000", "age 60m"]

    def test_nothing_of_what_is_usual(self) -> None:
        assert words_of(PODS, self.a_pod(requests={}), "age") == []
        assert words_of(PODS, PodEntry(Pod(name="p", template=PodTemplate(namespace="web")))) == ["age n/a"]


class TestClaims:
    ENTRY = ClaimEntry(a_claim(), None, None)

    def test_what_the_sentences_do_not_tell(self) -> None:
        assert words_of(CLAIMS, self.ENTRY) == ["m5.large on-demand us-east-1a", "NodePool general"]
        assert words_of(CLAIMS, ClaimEntry(a_claim(labels={}), None, None)) == []

    def test_the_first_sentence_tells_it(self) -> None:
        facts = CLAIMS.facts_without_room({"type", "pool"}, self.ENTRY, NOW_NS)
        head, *further = claim_sentences(self.ENTRY, NOW_NS, None, facts)
        plain, *same = claim_sentences(self.ENTRY, NOW_NS)
        assert further == same
        assert texts((head,)) == [f"{texts((plain,))[0]} · m5.large · NodePool general"]
