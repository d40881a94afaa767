from __future__ import annotations

import json

import pytest

from karptui.karpenter.scheduler_config import SpreadError, parse_scheduler_config
from karptui.karpenter.settings import SettingsError, parse_settings
from karptui.kube.pod import DO_NOT_SCHEDULE

ZONAL = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": DO_NOT_SCHEDULE}


def written(*constraints: dict[str, object]) -> str:
    return json.dumps({"podTopologySpread": {"defaultConstraints": constraints}})


@pytest.mark.parametrize("text", ["", " \n", "{}", "podTopologySpread: {}", "podTopologySpread: null"])
def test_text_without_constraints(text: str) -> None:
    assert parse_scheduler_config(text) == ()


def constraint(fields: str) -> str:
    return f"podTopologySpread: {{defaultConstraints: [{{{fields}, whenUnsatisfiable: DoNotSchedule}}]}}"


SPREAD = constraint("maxSkew: 1, topologyKey: zone")


@pytest.mark.parametrize(
    ("text", "skew", "key"),
    [
        # What Karpenter 1.15.0 reads: fields in any case, numbers and text as converted by YAML and JSON.
        (SPREAD.replace("podT", "PodT").replace("default", "DEFAULT"), 1, "zone"),
        (constraint("max\u017fKew: 1, topology\u212aey: zone"), 1, "zone"),
        (constraint("maxSkew: 1.0, topologyKey: zone"), 1, "zone"),
        (constraint("maxSkew: 1e9, topologyKey: zone"), 1_000_000_000, "zone"),
        (constraint("maxSkew: 0o10, topologyKey: zone"), 8, "zone"),
        (constraint("maxSkew: !!float 1, topologyKey: zone"), 1, "zone"),
        (constraint("maxSkew: 1, topologyKey: 1"), 1, "1"),
        (constraint("maxSkew: 1, topologyKey: yes"), 1, "true"),
        (constraint("maxSkew: 1, topologyKey: 1.10"), 1, "1.1"),
        (constraint("maxSkew: 1, topologyKey: 2024-01-01"), 1, "2024-01-01"),
        # A field twice in different cases: the last in alphabetical order wins, and null is ignored.
        (constraint("maxSkew: 1, topologyKey: zone, maxskew: 2"), 2, "zone"),
        (constraint("maxSkew: 1, topologyKey: zone, MaxSkew: 2"), 1, "zone"),
        (constraint("maxSkew: 1, topologyKey: zone, maxskew: null"), 1, "zone"),
        # Text after the first document is ignored.
        (f"{SPREAD}\n---\nbanana: 1\n", 1, "zone"),
        (f"{SPREAD}\n---\n[[[: {{", 1, "zone"),
        (f"# ours\n---\n{SPREAD}\n...\n]]", 1, "zone"),
    ],
)
def test_forms_that_karpenter_reads(text: str, skew: int, key: str) -> None:
    (result,) = parse_scheduler_config(text)
    assert (result.max_skew, result.topology_key, result.when_unsatisfiable) == (skew, key, DO_NOT_SCHEDULE)


@pytest.mark.parametrize(("text", "words"), [
    (constraint("maxSkew: 1.5, topologyKey: zone"), "maxSkew is 1.5, must be a whole number"),
    (constraint("maxSkew: 2147483648, topologyKey: zone"), "must be a whole number"),
    (constraint("maxSkew: true, topologyKey: zone"), "must be a whole number"),
    (constraint('maxSkew: "1", topologyKey: zone'), "must be a whole number"),
    (constraint("maxSkew: 1, topologyKey: 1e21"), "not a valid label name"),
    (constraint("maxSkew: 1, topologyKey: [zone]"), "topologyKey is a list, must be text"),
    (constraint("maxSkew: 1, maxSkew: 1, topologyKey: zone"), "'maxSkew' appears twice in a mapping"),
    ("podTopologySpread: {defaultConstraints: [null]}", "maxSkew must be greater"),
    ("podTopologySpread: {defaultConstraints: {}}", "defaultConstraints is a mapping, must be a list"),
    ("podTopologySpread: text", "podTopologySpread is 'text', must be a mapping"),
    ("[]", "the document is a list, must be a mapping"),
    ("podTopologySpread: [", "cannot be read"),
    ('{"profiles": []}', "profiles"),
    (written({**ZONAL, "maxSkew": 0}), "maxSkew"),
    (written({**ZONAL, "topologyKey": "-zone"}), "not a valid label name"),
    (written({**ZONAL, "topologyKey": "Upper.example.com/zone"}), "not a valid label name"),
    (written({**ZONAL, "whenUnsatisfiable": "Never"}), "whenUnsatisfiable"),
    (written({**ZONAL, "labelSelector": {}}), "labelSelector"),
    (written({**ZONAL, "matchLabelKeys": ["a"]}), "matchLabelKeys"),
    (written(ZONAL, ZONAL), "repeats the topologyKey"),
])  # fmt: skip
def test_values_that_karpenter_refuses_at_startup(text: str, words: str) -> None:
    with pytest.raises(SpreadError, match=words):
        parse_scheduler_config(text)
    with pytest.raises(SettingsError, match="SCHEDULER_CONFIG"):
        parse_settings({"SCHEDULER_CONFIG": text})
    assert parse_settings({"SCHEDULER_CONFIG": text}, "1.14.1").default_spread == ()  # an unknown variable
