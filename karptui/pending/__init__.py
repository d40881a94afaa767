"""Why pods wait: what the engine, Karpenter and the scheduler make of each."""

from __future__ import annotations
