"""Clusters for the rule about usage."""

from __future__ import annotations

from functools import partial
from typing import Any

from karptui.advice.finding import Severity
from karptui.karpenter.inventory import Inventory
from karptui.kube.usage import LiveUsage, Sample, first_seen
from tests.advice.asking import Case, quiet
from tests.builders import MINUTE_NS, NOW_NS, a_pod, an_inventory

RULE = "pod-requests-above-usage"
GIB = 1 << 30
NAMES = tuple(f"web-{number}" for number in range(4))


def asking(*, cpu: str = "450m", memory: str = "128Mi", node: str = "node-1", **fields: Any) -> Inventory:
    """Return four pods of a ReplicaSet on a node with 1930m CPU and 7Gi memory."""
    pods = tuple(a_pod(name=name, node=node, cpu=cpu, memory=memory, **fields) for name in NAMES)
    return an_inventory(nodes=1, pods=pods)


def measured(*samples: tuple[int, int], names: tuple[str, ...] = NAMES) -> LiveUsage:
    """Return the usage of each pod in millicores and bytes, one measurement a minute."""
    used = first_seen(Sample(NOW_NS, *samples[0]))
    for minutes, (cpu, memory) in enumerate(samples[1:], 1):
        used = used.then(Sample(NOW_NS + minutes * MINUTE_NS, cpu, memory))
    return LiveUsage(pods={f"default/{name}": used for name in names}, read_at_ns=NOW_NS, is_asked=True)


IDLE = measured((50, 100 << 20))
CASES = [
    Case(RULE, asking,
         ("4 pods of ReplicaSet/default/web request cpu 1800m, used 200m (one sample, which shows no peaks).",
          "take up to 0.8 of their nodes ($0.08/h)"),
         Severity.INFO, usage=IDLE, per_hour=0.0796),
    Case(RULE, partial(asking, cpu="10m", memory="1500Mi"),
         ("request memory 6,000Mi, used 1,200Mi (the most of 2 samples seen over 1m)", "take up to 0.7 of their nodes"),
         Severity.INFO, usage=measured((5, 300 << 20), (5, 100 << 20)), name="memory"),
    Case(RULE, partial(asking, cpu="15", memory="3Gi"), ("request cpu 60, used 4000m; memory 12,288Mi, used 400Mi",),
         Severity.INFO, usage=measured((1000, 100 << 20)), types=(), name="both, without prices"),
    *quiet(RULE, asking),
    *quiet(RULE, partial(asking, cpu="250m"), usage=IDLE, severity=Severity.INFO),
    Case(RULE, asking, usage=measured((120, GIB)), name="in use"),
    Case(RULE, asking, usage=measured((50, 0), (400, 0)), name="with a peak"),
    Case(RULE, partial(asking, daemonset="agent"), usage=IDLE, name="of a DaemonSet"),
    Case(RULE, partial(asking, node="elsewhere"), usage=IDLE, name="elsewhere"),
    Case(RULE, asking, usage=measured((50, 0), names=("other",)), name="of others"),
]  # fmt: skip
