"""The command line. Without a command it opens the app; each command is a module that is imported when it runs.

Exit status: 0 done; 1 done, but something was found or is missing; 2 the command line, a file, the configuration or
the cluster's address is invalid; 3 and 4 a condition of ``--fail-on`` is met; 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from typing import Final

from karptui import __version__
from karptui.cli import heartbeat
from karptui.cli.options import merge_files
from karptui.cli.parser import build_parser, hint, module_of, refused_demo, split, unrecognized, with_demo
from karptui.cli.streams import UsageError, begin, is_output_closed, prepare_streams, put, say
from karptui.errors import RequestError
from karptui.views.sanitize import page

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Failures of a file or device that standard output goes to."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status."""
    prepare_streams()
    command: str | None = None
    argv = sys.argv[1:] if argv is None else argv
    try:
        if argv[:2] == ["fleet-member", "verdict"]:
            import_module("karptui.workers.children").end_with_parent()
            argv = argv[1:]
        elif argv[:1] == ["fleet-member"]:
            return int(import_module("karptui.cli.member").main(argv[1:]))
        if argv[:1] == ["history-recorder"]:
            return int(import_module("karptui.sources.history.process").main())
        if argv[:1] == ["history-sender"]:
            return int(import_module("karptui.sources.history.watch_pod").main(argv[1:]))
        command, words = split(argv)
        begin(command)
        try:
            status = _execute(command, words)
        except RequestError as error:
            say(str(error))
            status = 2
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 2
        finally:
            heartbeat.stop()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has seen enough; say nothing more, not even while Python shuts down.
        sys.stderr.close()
        return 0
    except OSError as error:
        is_closed = error.errno == errno.EBADF and is_output_closed()
        if not (is_closed or error.errno in _FULL):
            return _crashed(error, command)
        why = "standard output is closed" if is_closed else error.strerror
        with suppress(OSError):  # as full as the other
            put(page(f"karptui{f' {command}' if command else ''}: cannot be written: {why}"), is_error=True)
        _leave_output()
        return 1
    except Exception as error:  # noqa: BLE001  users of a command need no traceback
        return _crashed(error, command)
    return status


def _crashed(error: Exception, command: str | None) -> int:
    from karptui import crash

    during = f"running karptui {command}" if command else "running karptui"
    put(page(f"karptui: {crash.message(error, during, crash.record(error, during))}"), is_error=True)
    return 70


def _execute(command: str | None, words: list[str]) -> int:
    if refusal := refused_demo(command, words):
        raise UsageError(refusal)
    words = with_demo(words)
    if command is not None and "--demo" in words:
        # A command reads the demo only once.
        words = [word for word in words if word != "--still"]
    if command is None and words and not words[0].startswith("-"):
        return _say_no_command(words[0])
    if command is None and words == ["--version"]:
        put(page(f"karptui {__version__}"))
        return 0
    parser = build_parser(command)
    # Else argparse takes the percent signs of metavars for its own.
    parser.usage = parser.format_usage().removeprefix("usage: ").replace("%", "%%")
    args, unknown = parser.parse_known_intermixed_args(words)
    if command is None and unknown and not unknown[0].startswith("-"):
        return _say_no_command(unknown[0])
    if unknown:
        parser.error(unrecognized(command, unknown))
    merge_files(args)
    if command is not None:
        heartbeat.start(command)
    is_copied = getattr(args, "from_watch", None) is not None
    with import_module("karptui.cli.source").history_of_pod(args) if is_copied else nullcontext():
        return int(module_of(command).run(args))


def _say_no_command(word: str) -> int:
    put(page(f"karptui: there is no command {word!r}; {hint(word)}"), is_error=True)
    return 2


def _leave_output() -> None:
    """Discard buffered output, which Python would write and complain about at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
