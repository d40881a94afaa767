from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.errors import RequestError
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import PodTemplate
from karptui.whatif.edits import ObjectRef, SetField
from karptui.whatif.field_path import POOL_REQUIREMENTS
from karptui.whatif.proportion import LABEL, MOST_VALUES, EditedOwner, parse_shares, proportion_edits
from tests.builders import a_nodepool, a_pod_template

KNOWN = ("primary", "rest", "spare")
SPOT = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}


def a_pool(name: str, *requirements: Mapping[str, object]) -> NodePool:
    written = {"spec": {"template": {"spec": {"requirements": list(requirements)}}}}
    return a_nodepool(name=name, raw=written)


@pytest.mark.parametrize(("text", "expected"), [
    ("70/30", {"primary": 7, "spare": 3}),
    ("1:1", {"primary": 1, "spare": 1}),
    ("primary=50 rest=25 spare=25", {"primary": 2, "rest": 1, "spare": 1}),
    ("spare=1, rest=4", {"spare": 1, "rest": 4}),
])  # fmt: skip
def test_shares_are_parsed(text: str, expected: dict[str, int]) -> None:
    assert dict(parse_shares(text, ("primary", "spare"), KNOWN)) == expected


@pytest.mark.parametrize(("text", "sentence"), [
    ("", "2 numbers are needed, for primary, spare; or name=number each"),
    ("70", "2 numbers are needed"),
    ("primary=1", "a ratio needs two NodePools"),
    ("primary=1 other=2", "there is no NodePool other"),
    ("primary=0 spare=2", "primary=0: a share is a whole number from 1 up"),
    ("1.5/2", "primary=1.5: a share is a whole number from 1 up"),
    ("-1/2", "a share is a whole number"),
    ("1/99999999999999999999", "a share is a whole number"),
    ("²/1", "a share is a whole number"),
    ("73/27", "it takes 100 label values, and each needs a node; 8/3 is close with 20 or fewer"),
    ("999/1", "it takes 1,000 label values, and each needs a node; 19/1 is close"),
])  # fmt: skip
def test_impossible_shares_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(RequestError) as error:
        parse_shares(text, ("primary", "spare"), KNOWN)
    assert sentence in str(error.value)


@given(st.integers(1, 200), st.integers(1, 200))
def test_shares_are_exact_or_a_close_possible_one_is_suggested(first: int, second: int) -> None:
    try:
        values = parse_shares(f"{first}/{second}", ("primary", "spare"), KNOWN)
    except RequestError as error:
        near = str(error).partition("node; ")[2].partition(" is close")[0]
        values = parse_shares(near, ("primary", "spare"), KNOWN)
        assert abs(values["primary"] / sum(values.values()) - first / (first + second)) < 0.05
    else:
        assert values["primary"] * second == values["spare"] * first
    assert sum(values.values()) <= MOST_VALUES


def test_edits_of_a_proportion() -> None:
    labels = {"app": "web", "pod-template-hash": "5c9"}
    template = a_pod_template(labels=labels)
    bare: PodTemplate = a_pod_template(labels={"pod-template-hash": "5c9"})
    web, ref = ObjectRef("Deployment", "web", "shop"), ObjectRef("Pod", "once", "shop")
    pools = {"primary": a_pool("primary", SPOT, {"key": LABEL, "operator": "Exists"}), "spare": a_pool("spare")}
    owners = (
        EditedOwner(web, template),
        EditedOwner(ref, template),
        EditedOwner(ObjectRef("Deployment", "bare", "shop"), bare),
    )
    edits = proportion_edits({"primary": 2, "spare": 1}, pools, owners)
    spread = {
        "maxSkew": 1,
        "topologyKey": LABEL,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    texts = {"key": LABEL, "operator": "In"}
    assert edits == (
        SetField(ObjectRef("NodePool", "primary"), POOL_REQUIREMENTS, [SPOT, texts | {"values": ["1", "2"]}]),
        SetField(ObjectRef("NodePool", "spare"), POOL_REQUIREMENTS, [texts | {"values": ["3"]}]),
        SetField(web, ("spec", "template", "spec", "topologySpreadConstraints"), [spread]),
        SetField(ref, ("spec", "topologySpreadConstraints"), [spread]),
    )


def test_a_pool_without_its_manifest_is_refused() -> None:
    for pools in ({}, {"primary": a_nodepool(name="primary")}):
        with pytest.raises(RequestError, match="primary: its original object is unknown"):
            proportion_edits({"primary": 2, "spare": 1}, pools, ())
