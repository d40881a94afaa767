"""Start karptui from the single file: worker processes start the file again, and are told apart here."""

from __future__ import annotations

import multiprocessing
import sys

from karptui.__main__ import main

if __name__ == "__main__":
    multiprocessing.freeze_support()
    sys.exit(main())
