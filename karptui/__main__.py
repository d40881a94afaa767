"""Run karptui: ``python -m karptui``, and the installed scripts."""

from __future__ import annotations

# The C module behind `signal`, without its enums: importing those would delay the handling of ctrl-c.
import _signal as signal  # type: ignore[import-not-found]
import sys


def main() -> int:
    """Run the command line and return its exit status; ctrl-c ends the program without a traceback at any time."""
    hears = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if hears:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from karptui.cli.main import main as run  # noqa: PLC0415 - importing takes long enough for a ctrl-c

    if hears:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run()
    finally:
        if hears:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
