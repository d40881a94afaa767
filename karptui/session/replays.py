"""What-ifs of a session: asked and answered by values, replayed on the cluster as it is or was a moment ago."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from karptui.session.questions import Replayed, ReplayState, ReplayStateWanted, ReplayWanted
from karptui.session.replayer import Replayer
from karptui.session.shared_base import SharedBase

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView
    from karptui.whatif.run import Answer

FOLLOW_AFTER_NS: Final = 2_000_000_000
"""How long the base may be behind a cluster that keeps changing."""
FOLLOW_TYPED_NS: Final = 8_000_000_000
"""How long it may while somebody types."""


class Replays:
    """Asks the replayer; while somebody edits, about the cluster as it was a moment ago, which has been made ready."""

    def __init__(self, view: Callable[[], ClusterView], shared_base: SharedBase) -> None:
        """Begin before anything is asked.

        Args:
            view: Returns the newest generation of the cluster.
            shared_base: The cluster made ready, which others replay on as well.
        """
        self._view, self._shared_base = view, shared_base
        self._known: Replayer | None = None
        self._hear: Callable[[Replayed], None] | None = None
        self._asked: ClusterView | None = None
        """The cluster of the last question."""
        self._asked_ns = 0
        self._number = 0

    @property
    def _replayer(self) -> Replayer:
        if self._known is None:
            self._known = Replayer(self._told, shared_base=self._shared_base)
        return self._known

    def _told(self, answer: Answer) -> None:
        if self._hear is not None:
            self._hear(Replayed(number=self._replayer.answered, answer=answer))

    def tell(self, hear: Callable[[Replayed], None]) -> None:
        """Tell somebody every answer, in the thread that replays."""
        self._hear = hear

    def replay(self, wanted: ReplayWanted) -> ReplayState:
        """Have a scenario replayed, in the place of whatever was asked before."""
        if wanted.is_first:
            self._asked = None
        view = self._view_to_ask(wanted.now_ns, is_typing=wanted.is_typing)
        if view is not self._asked:
            self._asked, self._asked_ns = view, wanted.now_ns
        self._number = self._replayer.ask(view, self._asked_ns, wanted.scenario)
        return self.state(ReplayStateWanted(now_ns=wanted.now_ns, is_typing=wanted.is_typing))

    def state(self, wanted: ReplayStateWanted) -> ReplayState:
        """Return how far the last question has come, and whether it is to be asked again."""
        if self._known is None:
            return ReplayState()
        progress, next_view = self._known.progress, self._view_to_ask(wanted.now_ns, is_typing=wanted.is_typing)
        return ReplayState(
            number=self._number,
            is_busy=self._known.is_busy,
            done=progress.done,
            total=progress.total,
            is_outdated=not self._is_asked_of(self._view()),
            moves=not self._is_asked_of(next_view),
            is_due=self._is_behind(wanted.now_ns, is_typing=wanted.is_typing),
        )

    def _view_to_ask(self, now_ns: int, *, is_typing: bool) -> ClusterView:
        view, asked = self._view(), self._asked
        if asked is None or view.evidence is not asked.evidence or self._is_behind(now_ns, is_typing=is_typing):
            return view
        is_later = view.state.generation > asked.state.generation  # else it is another cluster
        return asked if is_later else view

    def _is_behind(self, now_ns: int, *, is_typing: bool) -> bool:
        """Whether it is time for the base to follow the cluster."""
        return now_ns - self._asked_ns >= (FOLLOW_TYPED_NS if is_typing else FOLLOW_AFTER_NS)

    def _is_asked_of(self, view: ClusterView) -> bool:
        """Whether the last question was about a cluster as it is here."""
        asked = self._asked
        return asked is not None and asked.state is view.state and asked.evidence is view.evidence

    def stop(self) -> None:
        """End the thread soon."""
        if self._known is not None:
            self._known.stop()

    def wait_until_at_rest(self, seconds: float) -> bool:
        """Wait until everything that was asked is answered; return whether that came within so many seconds."""
        return self._known is None or self._known.wait_until_at_rest(seconds)
