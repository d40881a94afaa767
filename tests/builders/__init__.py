"""Kubernetes objects for tests, with defaults for every field: a test passes only the fields it is about.

Amounts are strings as in manifests (``cpu="500m"``) and instants are nanoseconds since the epoch. Other resources are
passed as ``requests={"nvidia.com/gpu": "1"}``. ``a_manifest`` makes the JSON form, for tests that read files or talk to
servers.
"""

from __future__ import annotations

from tests.builders.clusters import a_cluster, an_inventory
from tests.builders.events import a_launch_failure, an_event
from tests.builders.instance_types import an_instance_type
from tests.builders.instants import DAY_NS, HOUR_NS, MINUTE_NS, NOW, NOW_NS, SECOND_NS
from tests.builders.manifests import a_manifest, decoded
from tests.builders.nodes import a_node, a_nodeclaim, a_nodepool
from tests.builders.parts import a_condition, a_requirement, amounts, an_owner, present, text_of, texts_of
from tests.builders.pods import a_daemonset, a_pdb, a_pod, a_pod_template

__all__ = [
    "DAY_NS",
    "HOUR_NS",
    "MINUTE_NS",
    "NOW",
    "NOW_NS",
    "SECOND_NS",
    "a_cluster",
    "a_condition",
    "a_daemonset",
    "a_launch_failure",
    "a_manifest",
    "a_node",
    "a_nodeclaim",
    "a_nodepool",
    "a_pdb",
    "a_pod",
    "a_pod_template",
    "a_requirement",
    "amounts",
    "an_event",
    "an_instance_type",
    "an_inventory",
    "an_owner",
    "decoded",
    "present",
    "text_of",
    "texts_of",
]
