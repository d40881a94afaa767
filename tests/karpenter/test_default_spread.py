"""The document of ``--scheduler-config``: what Karpenter starts with, and what it refuses."""

from __future__ import annotations

import json

import pytest

from karptui.karpenter.settings import SettingsError, SpreadError, parse_scheduler_config, parse_settings
from karptui.kube.pod import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY

ZONAL = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": DO_NOT_SCHEDULE}


def written(*constraints: dict[str, object]) -> str:
    return json.dumps({"podTopologySpread": {"defaultConstraints": constraints}})


@pytest.mark.parametrize("text", ["", " \n", "{}", "podTopologySpread: {}", "podTopologySpread: null"])
def test_nothing_is_asked(text: str) -> None:
    assert parse_scheduler_config(text) == ()


def test_constraints_are_read_from_json_and_yaml() -> None:
    soft = {**ZONAL, "whenUnsatisfiable": SCHEDULE_ANYWAY, "minDomains": 2, "nodeTaintsPolicy": "Honor"}
    one, other = parse_scheduler_config(written(ZONAL, soft))
    assert (one.max_skew, one.when_unsatisfiable, one.min_domains) == (1, DO_NOT_SCHEDULE, None)
    assert (other.when_unsatisfiable, other.min_domains, other.node_taints_policy) == (SCHEDULE_ANYWAY, 2, "Honor")
    text = "podTopologySpread:\n  defaultConstraints:\n  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone,"
    assert parse_scheduler_config(f"{text} whenUnsatisfiable: DoNotSchedule}}\n") == (one,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("podTopologySpread: [", "cannot be read"),
        ('{"profiles": []}', "profiles"),
        (written({**ZONAL, "maxSkew": 0}), "maxSkew"),
        (written({**ZONAL, "topologyKey": "-zone"}), "no label name"),
        (written({**ZONAL, "topologyKey": "Upper.example.com/zone"}), "no label name"),
        (written({**ZONAL, "whenUnsatisfiable": "Never"}), "whenUnsatisfiable"),
        (written({**ZONAL, "labelSelector": {}}), "labelSelector"),
        (written({**ZONAL, "matchLabelKeys": ["a"]}), "matchLabelKeys"),
        (written(ZONAL, ZONAL), "again"),
    ],
)
def test_what_karpenter_would_not_start_with(text: str, words: str) -> None:
    with pytest.raises(SpreadError, match=words):
        parse_scheduler_config(text)
    with pytest.raises(SettingsError, match="SCHEDULER_CONFIG"):
        parse_settings({"SCHEDULER_CONFIG": text})
    assert parse_settings({"SCHEDULER_CONFIG": text}, "1.14.1").default_spread == ()  # a variable it does not know
