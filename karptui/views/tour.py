"""Captioned tours of the demo: the five stories, key by key, with what to see at each step."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from karptui.views.row import Pieces, Tone

_SHOWN: Final = MappingProxyType(
    {"down": "↓", "up": "↑", "left": "←", "right": "→", "ctrl+t": "^t", "ctrl+u": "^u", "ctrl+a": "^a"}
)
"""Keys that are written otherwise than they are called."""
_CALLED: Final = MappingProxyType({"full_stop": ".", "slash": "/"})
"""Keys that are called otherwise than they are pressed."""


class TourStep(NamedTuple):
    """Keys, and the caption until they are pressed."""

    text: str
    keys: tuple[str, ...] = ()
    """None at the end."""


class Story(NamedTuple):
    """A tour."""

    title: str
    steps: tuple[TourStep, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys from the first screen to the answer."""
        return tuple(key for step in self.steps for key in step.keys)


def _step(text: str, keys: str = "") -> TourStep:
    return TourStep(text, tuple(keys.split()))


STORIES: Final[Mapping[str, Story]] = MappingProxyType(
    {
        "a": Story(
            "Weight is an order, not a share",
            (
                _step("general has weight 50 and overflow 49, and people expect halves:", "2 down down"),
                _step("general gets every pod that fits both. Lower its weight by one?", "ctrl+t left"),
                _step("Now the name that sorts last is tried first. Simulate every pod as new:", "m down enter"),
                _step("overflow gets every pod that fits: weights are not shares. For a ratio press Q on Pools."),
            ),
        ),
        "b": Story(
            "Flex first, the rest as fallback",
            (
                _step("Flex types first, others only as a fallback. First a mistake:", "2 down"),
                _step('"*" is not a wildcard: it matches nothing. Open general in the what-if:', "down ctrl+t"),
                _step("One NodePool that allows both prefers neither. Split it in two:", "a enter enter"),
                _step("Filter the families by flex, and turn on all that are shown:", "f l ctrl+a enter enter"),
                _step("Two NodePools, weights 100 and 1. Simulate every pod as new:", "m down enter"),
                _step("The preferred pool gets them. What if flex is sold out?", "a o u enter f l e x enter"),
                _step("overflow gets them: its weight is 49, the fallback's 1. Check the weights between them."),
            ),
        ),
        "c": Story(
            "DaemonSets rule out small types",
            (
                _step(
                    "Eleven DaemonSets do not fit on a type with eight pod slots. See NEW NODE CARRIES:",
                    "2 down down down down",
                ),
                _step(
                    "The lines below the table name the excluded types and the number. Remove one DaemonSet?",
                    "ctrl+t a d a e",
                ),
                _step("Add it, and simulate every pod as new:", "enter enter m down enter"),
                _step("Nodes and dollars for one more agent on every node."),
            ),
        ),
        "d": Story(
            "Advertised memory is not usable memory",
            (
                _step("Three 240Gi pods are pending, yet r5a.8xlarge has 256Gi:", "5 enter"),
                _step(
                    "Karpenter plans with less memory than that. Remedies are listed below. Open the best:", "ctrl+t"
                ),
                _step("Now they fit. t on Pending shows the ledger: what uses the memory."),
            ),
        ),
        "e": Story(
            "Protected pods pin nodes",
            (
                _step("CI runners set do-not-disrupt, and new ones keep landing on their nodes:", "6"),
                _step("Only gitlab's blockers:", "/ g i t l a b enter"),
                _step("The cost is above. Compare the remedies:", "r"),
                _step("The best is first, with nodes freed, savings and pods cut. enter opens it in the what-if."),
            ),
        ),
    }
)
"""By the letter behind ``--demo=``."""


class Tour:
    """Follows the user through a tour by the keys pressed."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self._step = 0
        self._pressed = 0
        """Keys of the step that have been pressed."""

    @property
    def is_over(self) -> bool:
        """Whether the last step is reached."""
        return self._step == len(self.story.steps) - 1

    def press(self, key: str) -> bool:
        """Handle a key; return whether it was the expected one. Other keys do not change the step."""
        keys = self.story.steps[self._step].keys
        if not keys or _CALLED.get(key, key) != keys[self._pressed]:
            return False
        self._pressed += 1
        if self._pressed == len(keys):
            self._step, self._pressed = self._step + 1, 0
        return True

    def line(self, way_back: str = "") -> Pieces:
        """Return the caption: position, what to look at, and the next keys."""
        step = self.story.steps[self._step]
        where = f"{self.story.title} {self._step + 1}/{len(self.story.steps)} "
        if way_back:
            return ((where, Tone.STRONG), (way_back, Tone.WARNING))
        left = " ".join(_SHOWN.get(key, key) for key in step.keys[self._pressed :])
        return ((where, Tone.STRONG), (step.text, Tone.NORMAL), (f" {left}" if left else "", Tone.ACTIVE))
