"""What applying manifests does to a cluster, for whoever reviews them."""

from __future__ import annotations
