"""Questions that need many replays or forecasts: plans, headroom, drills, policies, rollouts."""

from __future__ import annotations
