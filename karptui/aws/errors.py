"""What cannot be modelled, in words for the person who wrote it."""

from __future__ import annotations


class NodeClassError(ValueError):
    """An EC2NodeClass that Karpenter itself would refuse, or crash on; the message names the object and the field."""
