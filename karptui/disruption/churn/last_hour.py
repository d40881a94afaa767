"""The last hour in steps of five minutes; without an engine, because the first screen shows it."""

from __future__ import annotations

from typing import Final

from karptui.kube.timestamps import MINUTE_NS

BINS: Final = 12
BIN_NS: Final = 5 * MINUTE_NS
