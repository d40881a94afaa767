"""Replays what-ifs in a thread, on a cluster that is prepared once for all that use it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from karptui import crash
from karptui.kube.recent import LastAnswer
from karptui.session.readiness import unsimulated_because
from karptui.session.throttle import ThreadThrottle

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView
    from karptui.whatif.run import Answer
    from karptui.whatif.scenario import Scenario
    from karptui.whatif.situation import WhatIfBase


class SharedBase:
    """Keeps the base of the last view; threads take turns with it, because replays store results in it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Held by whoever replays on the base."""
        self._throttle = ThreadThrottle()
        self._last_base: LastAnswer[WhatIfBase] = LastAnswer()

    @contextmanager
    def borrowed(self, view: ClusterView, now_ns: int) -> Iterator[WhatIfBase]:
        """Give the base of a view to one thread at a time."""
        from karptui.session.prepare import base_of  # noqa: PLC0415 - the engines are imported in the thread

        with self.lock:
            yield self._last_base.get((view.state, view.evidence), lambda: base_of(view, now_ns, self._throttle.take))

    def take(self, view: ClusterView, now_ns: int) -> WhatIfBase:
        """Return the base of a view for reading its constant parts: objects, settings, instance types."""
        with self.borrowed(view, now_ns) as base:
            return base


class ReplayQuestion(NamedTuple):
    """What is asked."""

    number: int
    """Of later questions it is higher."""
    view: ClusterView
    now_ns: int
    scenario: Scenario


class ReplayProgress(NamedTuple):
    """Progress of the current replay."""

    number: int
    done: int
    total: int


class Replayer:
    """Takes questions, gives answers; everything heavy happens in its thread."""

    def __init__(
        self,
        answered: Callable[[Answer], None],
        clock: Callable[[], float] = time.monotonic,
        shared_base: SharedBase | None = None,
    ) -> None:
        self._answered = answered
        self._clock = clock
        self._wake = threading.Condition()
        self._question: ReplayQuestion | None = None
        self._is_at_work = False
        self._is_stopped = False
        self._thread: threading.Thread | None = None
        self._number = 0
        self.shared_base = shared_base or SharedBase()
        """The prepared current cluster."""
        self.progress = ReplayProgress(0, 0, 0)
        """Of the question that is being worked on; replaced, never changed."""
        self.answered = 0
        """Number of the last question that has its answer."""

    @property
    def is_busy(self) -> bool:
        """Whether the last question has no answer yet."""
        return self.answered < self._number

    def ask(self, view: ClusterView, now_ns: int, scenario: Scenario) -> int:
        """Start replaying a scenario on a view instead of the one before; return its number."""
        with self._wake:
            self._number += 1
            self._question = ReplayQuestion(self._number, view, now_ns, scenario)
            self._wake.notify_all()
            if self._thread is None and not self._is_stopped:
                self._thread = threading.Thread(target=self._run, name="replayer", daemon=True)
                self._thread.start()
            return self._number

    def stop(self) -> None:
        """End the thread soon."""
        with self._wake:
            self._is_stopped = True
            self._wake.notify_all()

    def wait_until_at_rest(self, seconds: float) -> bool:
        """Wait until all questions are answered; return whether that happened within this many seconds."""
        with self._wake:
            return self._wake.wait_for(lambda: self._question is None and not self._is_at_work, seconds)

    # The thread

    def _run(self) -> None:
        from karptui.provisioning.reporter import Cancelled  # noqa: PLC0415 - the engines are imported in the thread

        while (question := self._next_question()) is not None:
            try:
                self._work(question)
            except Cancelled:
                continue
            except Exception as error:  # noqa: BLE001 - the app must survive and show the error
                crash.record(error, "replaying a what-if")
                with suppress(Exception):  # the listener itself may be what fails
                    self._give(question, _failed(question, error))

    def _work(self, question: ReplayQuestion) -> None:
        """Answer, and then again with what takes longer."""
        from karptui.whatif.run import Answer, answers  # noqa: PLC0415 - as above

        if reason := unsimulated_because(question.view.state.unread):
            self._give(question, Answer(question.scenario, problem=reason))
            return
        report = _Report(self, question.number)
        with self.shared_base.borrowed(question.view, question.now_ns) as base:
            for answer in answers(base, question.scenario, report, self._clock):
                self._give(question, answer)

    def _give(self, question: ReplayQuestion, answer: Answer) -> None:
        self.answered = question.number
        self._answered(answer)

    def _next_question(self) -> ReplayQuestion | None:
        with self._wake:
            self._is_at_work = False
            self._wake.notify_all()
            while self._question is None and not self._is_stopped:
                self._wake.wait()
            question, self._question = self._question, None
            self._is_at_work = not self._is_stopped
            return None if self._is_stopped else question

    @property
    def is_superseded(self) -> bool:
        """Whether the question that is worked on no longer matters."""
        return self._is_stopped or self._question is not None


def _failed(question: ReplayQuestion, error: Exception) -> Answer:
    from karptui.whatif.run import Answer  # noqa: PLC0415 - as above

    return Answer(question.scenario, problem=f"the replay failed: {crash.sentence(error)}")


class _Report:
    """Tells progress, lets other threads have their turn, and gives up what no longer matters."""

    def __init__(self, replayer: Replayer, number: int) -> None:
        self._replayer = replayer
        self._number = number
        self._throttle = ThreadThrottle()

    def __call__(self, done: int, total: int) -> None:
        """Take note of progress."""
        from karptui.provisioning.reporter import Cancelled  # noqa: PLC0415 - as above

        self._replayer.progress = ReplayProgress(self._number, done, total)
        if self._replayer.is_superseded:
            raise Cancelled
        self._throttle.take()
