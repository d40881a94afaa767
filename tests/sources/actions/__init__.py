"""Tests of writing to a cluster, and of the checks that must pass first."""

from __future__ import annotations
