"""Questions one at a time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec

from textual import work

GROUP: Final = "asking"

Given = ParamSpec("Given")


def question(
    method: Callable[Concatenate[Any, Given], Coroutine[Any, Any, None]],
) -> Callable[Concatenate[Any, Given], None]:
    """Run a method that asks beside the screen's messages; what is asked while another is open is not asked.

    Keys that come faster than a dialog would otherwise open a second one before it, and the first never be answered;
    or a dialog would come up in front of a screen that was opened meanwhile.
    """

    @work(group=GROUP)
    async def worker(self: Any, /, *args: Given.args, **kwargs: Given.kwargs) -> None:
        if self.is_current:
            await method(self, *args, **kwargs)

    @wraps(method)
    def ask(self: Any, /, *args: Given.args, **kwargs: Given.kwargs) -> None:
        is_asking = any(one.group == GROUP and one.node is self and not one.is_finished for one in self.app.workers)
        if not is_asking:
            worker(self, *args, **kwargs)

    return ask
