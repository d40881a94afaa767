"""Run karptui as ``python -m karptui``."""

from __future__ import annotations

import sys

from karptui.cli.main import main

sys.exit(main())
