"""Catches faults in handlers, timers, workers and drawing, so that the app goes on.

Textual ends the app instead, with a traceback that holds the values of variables; a widget whose handler fails gets no
more messages. Possible upstream change: "Let an app handle unhandled exceptions". Measured by tests/ui/test_faults.py:
each fault ended the app.
"""

from __future__ import annotations

import asyncio
import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final, TypeVar

from textual import events
from textual.app import App
from textual.geometry import Region
from textual.message import Message
from textual.message_pump import MessagePump
from textual.strip import Strip
from textual.widget import Widget
from textual.worker import WorkerFailed

from karptui import crash

WidgetT = TypeVar("WidgetT", bound=Widget)


class LivingApp(App[None]):
    """An app that hears of faults, and lives on."""

    @abstractmethod
    def fault_caught(self, error: Exception, during: str) -> None:
        """Report a fault."""

    def catch_faults(self, loop: asyncio.AbstractEventLoop) -> None:
        """Catch faults of tasks and threads too; Python would print them over the screen."""
        loop.set_exception_handler(self._task_failed)
        threading.excepthook = _thread_failed

    def _task_failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Exception):
            self.fault_caught(error, "working in the background")

    def _handle_exception(self, error: Exception) -> None:
        inner = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(inner, Exception):
            self.fault_caught(inner, "working in the background" if inner is not error else "drawing")


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    if isinstance(failed.exc_value, Exception):
        crash.record(failed.exc_value, f"working in thread {failed.thread.name if failed.thread else ''}")


_DISPATCH: Final = MessagePump._dispatch_message  # noqa: SLF001 - the replacement calls it


async def _dispatch_message(self: MessagePump, message: Message) -> None:
    try:
        await _DISPATCH(self, message)
    except Exception as error:
        app = self.app
        if not isinstance(app, LivingApp):
            raise
        app.fault_caught(error, _during(message))


def drawn(render_lines: Callable[[WidgetT, Region], list[Strip]]) -> Callable[[WidgetT, Region], list[Strip]]:
    """Leave a widget that cannot be drawn blank, and the rest of the screen intact."""

    def render(self: WidgetT, crop: Region) -> list[Strip]:
        try:
            return render_lines(self, crop)
        except Exception as error:
            app = self.app
            if not isinstance(app, LivingApp):
                raise
            app.fault_caught(error, "drawing")
            return [Strip.blank(crop.width, self.rich_style)] * crop.height

    render.__doc__ = render_lines.__doc__
    return render


def _during(message: Message) -> str:
    if isinstance(message, events.Key):
        return f"taking the key {message.key}"
    if isinstance(message, events.Mount | events.Compose):
        return "opening a screen"
    name = type(message).__name__
    return "drawing" if name in ("Update", "Layout", "Idle", "Resize") else f"handling {name}"


# Their heirs hand over to these, whichever widget or screen they are.
MessagePump._dispatch_message = _dispatch_message  # type: ignore[method-assign]  # noqa: SLF001 - as above
Widget.render_lines = drawn(Widget.render_lines)  # type: ignore[method-assign,assignment]
