"""Names whose endings were generated: by ``generateName``, CI systems, workflow engines, CronJobs."""

from __future__ import annotations

import re
from typing import Final

ORIGIN_LABELS: Final = (
    "actions.github.com/scale-set-name",
    "runner-deployment-name",
    "workflows.argoproj.io/cron-workflow",
    "workflows.argoproj.io/workflow",
    "tekton.dev/pipeline",
    "tekton.dev/task",
    "jenkins/label",
    "sparkoperator.k8s.io/app-name",
    "dag_id",
)
"""Actions Runner Controller (scale sets, then runner deployments), Argo Workflows, Tekton, Jenkins, Spark, Airflow."""
TEMPLATE_HASH: Final = "pod-template-hash"
"""The label with which a Deployment tells its ReplicaSets apart: it names them ``<deployment>-<hash>``."""
WRITTEN_KINDS: Final = frozenset(
    {
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "CronJob",
        "ReplicationController",
        "Node",
        "Rollout",
        "DeploymentConfig",
    }
)
"""Kinds whose names people choose."""
_GITLAB: Final = re.compile(r"^(runner)-.+-project-\d+-concurrent-\d+(-[a-z0-9]+)?$")
_UUID: Final = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_GENERATED: Final = re.compile(
    r"-(\d+"  # a number: a CronJob's minute, an index, a pipeline
    r"|[bcdfghjklmnpqrstvwxz2456789]{5}"  # generateName
    r"|(?=[a-z0-9]*\d)[a-z0-9]{5,}"  # a hash: letters and at least one digit
    r")$"
)


def stem(name: str) -> str:
    """Return a name without the endings that were generated; at least its first part is left.

    >>> stem("runner-t1abcdef-project-4711-concurrent-0-x7k2p9aa")
    'runner'
    >>> stem("nightly-report-29384920")
    'nightly-report'
    """
    found = _GITLAB.match(name)
    if found is not None:
        return found[1]
    shorter = _UUID.sub("", name)
    while (cut := _GENERATED.sub("", shorter)) != shorter:
        shorter = cut
    return shorter
