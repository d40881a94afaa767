"""Clusters whose NodePools are not the AWS provider's: what is said of them must be true."""

from __future__ import annotations
