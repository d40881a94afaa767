"""CapacityBuffers: spare room asked for ahead of the pods. Source of the fields: autoscaling.x-k8s.io/v1beta1."""

from __future__ import annotations

from karptui.kube.objects import Condition, KubeObject


class CapacityBuffer(KubeObject, frozen=True, kw_only=True, gc=False):
    """A buffer of virtual pods."""

    pod_template_name: str = ""
    """``status.podTemplateRef.name``."""
    scalable_kind: str = ""
    scalable_name: str = ""
    replicas: int = 0
    """``status.replicas``: how many virtual pods it comes to."""
    conditions: tuple[Condition, ...] = ()
    has_spec_ref: bool = False
    """Whether the spec names a pod template or a scalable object."""
