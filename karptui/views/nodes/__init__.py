"""The Nodes screen: nodes, and NodeClaims that are not nodes yet."""

from __future__ import annotations
