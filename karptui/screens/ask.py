"""Ask…: the questions that karptui answers, for the object under the cursor and for the cluster."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final, NamedTuple, Protocol

from textual.app import App

from karptui.screens.dialogs import Choice, pick
from karptui.screens.host import Host
from karptui.views.sanitize import clean


class AskedScreen(Protocol):
    """The screen that the questions are opened from."""

    @property
    def app(self) -> App[Any]:
        """The app."""

    @property
    def host(self) -> Host:
        """The app's interface for screens."""

    def current_object(self) -> tuple[str, str] | None:
        """Return kind and key of the object under the cursor."""

    def run_action(self, action: str) -> Awaitable[object]:
        """Run an action of the screen."""


class Question(NamedTuple):
    """A question, and how it is answered."""

    text: str
    """``{}`` is replaced by the name of the object."""
    command: str = ""
    """Command line that answers it; ``{}`` is replaced by the object's key."""
    kinds: tuple[str, ...] = ()
    """Kinds of objects it is about; empty for the cluster."""
    action: str = ""
    """Action of the screen that answers it instead of a command."""


QUESTIONS: Final = (
    Question("Why is {} still here?", kinds=("Node", "NodeClaim"), action="explain_why"),
    Question("Why is {} pending? If it runs: why is its node still here?", kinds=("Pod",), action="explain_why"),
    Question("What happens if I change {}?", kinds=("Node", "NodePool", "NodeClass", "Pod"), action="whatif"),
    Question("Which instance types can {} launch?", "types {}", ("NodePool",)),
    Question("How many more pods fit within the limits of {}?", "headroom NodePool {}", ("NodePool",)),
    Question("Which consolidation policy suits {}?", "policies {}", ("NodePool",)),
    Question("Is the newest change of {} rolled out?", "rollout {}", ("NodePool", "NodeClass")),
    Question("How do I pause disruption of {}?", "pause {}", ("NodePool",)),
    Question("How do I keep a ratio between {} and another pool?", kinds=("NodePool",), action="share_out"),
    Question("How many more copies of {} fit?", "headroom Pod {}", ("Pod",)),
    Question("Which actions can I take on {}?", "do", ("Node", "NodeClaim", "Pod")),
    Question("What does Karpenter do next?", "next"),
    Question("What happens in the next hours?", "forward"),
    Question("What happens if I change something?", "whatif"),
    Question("Which change schedules the pending pods?", "solve pending"),
    Question("What if a zone, a capacity type or a NodePool is lost?", "drill"),
    Question("How many more pods fit?", "headroom"),
    Question("Which consolidation policy is best?", "policies"),
    Question("Are my changes of NodePools and NodeClasses rolled out?", "rollout"),
    Question("How do I pause disruption, and what does that cost?", "pause"),
    Question("What happens when I end a pause of disruption?", "pause release"),
    Question("What would right-sized requests save?", "rightsize"),
    Question("Which memory overhead do my nodes really need?", "solve overhead"),
    Question("Why is there so much node churn?", "churn"),
    Question("Where is the capacity?", "capacity"),
    Question("What does each namespace cost?", "capacity namespace"),
    Question("How are pods packed on nodes?", "packing"),
    Question("Which of my clusters needs attention?", "fleet"),
    Question("Which faults and risks are in the configuration?", "advice"),
)


async def ask(screen: AskedScreen) -> None:
    """Show the questions, those about the object under the cursor first, and answer the chosen one."""
    kind, key = screen.current_object() or ("", "")
    questions = {
        question.text.format(clean(key)): question
        for question in QUESTIONS
        if (kind in question.kinds if question.kinds else True)
        and (not question.action or hasattr(screen, f"action_{question.action}"))
    }
    chosen = await pick(screen.app, "Ask", [Choice(text, text) for text in questions])
    if chosen is None:
        return
    question = questions[chosen]
    if question.action:
        await screen.run_action(question.action)
    else:
        screen.host.run_command(question.command.format(key))
