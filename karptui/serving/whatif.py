"""What-ifs: replays in a thread, comparisons, and a check of the model."""

# ruff: noqa: PLC0415 - the first rows wait for no engine: each is imported in the thread that asks

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from karptui.session.replays import ReplayServer

if TYPE_CHECKING:
    from karptui.session.packing import Packed
    from karptui.whatif.run import Answer
    from karptui.whatif.scenario import Scenario


class WhatIfs(ReplayServer):
    """Scenarios on the current cluster."""

    def compare(self, scenario: Scenario, now_ns: int) -> Answer:
        from karptui.provisioning.reporter import silent
        from karptui.whatif.run import answer

        with self._shared_base.borrowed(self._view(), now_ns) as base:
            return answer(base, scenario, silent, time.monotonic)

    def packed(self, scenario: Scenario, now_ns: int) -> Packed:
        from karptui.session.packing import packed_sides

        with self._shared_base.borrowed(self._view(), now_ns) as base:
            return packed_sides(base, scenario)

    def self_check(self, now_ns: int) -> str:
        from karptui.views.whatif.compare import self_check_text
        from karptui.whatif.self_check import self_check

        return self_check_text(self_check(self._shared_base.take(self._view(), now_ns)))
