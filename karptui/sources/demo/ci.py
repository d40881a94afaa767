"""CI jobs: pods that say do-not-disrupt and keep landing on the nodes they protect."""

from __future__ import annotations

import random
from typing import Final

from karptui.sources.demo.manifests import Manifest, a_uid, metadata, pod_of, pod_spec

NAMESPACE: Final = "gitlab"
NODE_POOL: Final = "runners"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"


def ci_job(rng: random.Random, number: int, created_ns: int, protection: str = "true") -> tuple[Manifest, Manifest]:
    """Return a Job and its pod.

    Args:
        rng: for names and UIDs.
        number: of the pipeline.
        created_ns: when both are created.
        protection: value of the do-not-disrupt annotation.
    """
    labels = {"app": "ci", "pipeline": str(number)}
    name = f"ci-{number}"
    job: Manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(name, uid=a_uid(rng), created_ns=created_ns, namespace=NAMESPACE, labels=labels),
        "spec": {"backoffLimit": 0},
    }
    spec = pod_spec(
        cpu=rng.choice(("500m", "1", "2")),
        memory=rng.choice(("2Gi", "4Gi", "6Gi")),
        image="registry.example/ci/runner:v17.5",
        tolerations=({"key": "ci", "operator": "Exists", "effect": "NoSchedule"},),
        node_selector={"karpenter.sh/nodepool": NODE_POOL},
        restartPolicy="Never",
    )
    annotations = {DO_NOT_DISRUPT: protection}
    job["spec"]["template"] = {"metadata": {"labels": dict(labels), "annotations": dict(annotations)}, "spec": spec}
    return job, pod_of(job, rng, created_ns)
