"""Events."""

from __future__ import annotations

from karptui.kube.objects import KubeObject
from karptui.kube.timestamps import ABSENT_NS


class Event(KubeObject, frozen=True, kw_only=True, gc=False):
    """Something that was said about an object; corroboration, never ground truth."""

    reason: str = ""
    message: str = ""
    type: str = ""
    """``Normal`` or ``Warning``."""
    source: str = ""
    """``reportingComponent``, or the older ``source.component``."""
    involved_kind: str = ""
    involved_namespace: str = ""
    involved_name: str = ""
    involved_uid: str = ""
    count: int = 1
    first_ns: int = ABSENT_NS
    last_ns: int = ABSENT_NS
    """When it was last seen: of lastTimestamp, series and eventTime the latest."""
