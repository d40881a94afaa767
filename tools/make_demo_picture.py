"""Draw docs/pictures/demo.svg, the animated picture in README.md, from the app: python tools/make_demo_picture.py."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from textual.strip import Strip

from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.sources.evidence import EvidenceSource
from tests.builders import NOW_NS
from tests.canvas import whole_of
from tests.ui.pictures import DARK, HEIGHT, WIDTH, svg
from tests.ui.stage import demo_app, settled

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "demo.svg"
SIZE = (104, 30)
BAR = 2 * HEIGHT
"""Height of the line below the terminal that shows the key."""


class Step(NamedTuple):
    """A key, the caption and the duration of the screen that it opens."""

    key: str
    caption: str
    seconds: float


STEPS = (
    Step("", "Nodes: the verdict, and why each node is still here", 1.8),
    Step("6", "Blockers: everything that stops Karpenter removing a node", 1.6),
    Step("n", "Next: the nodes that Karpenter could remove, most expensive first", 1.8),
    Step("enter", "One of them: every method, every gate, and where each pod would land", 2.8),
)


async def frames() -> list[list[Strip]]:
    """Return the terminal after each step."""
    taken = []
    app = demo_app(FrozenClock(NOW_NS), config=Config())
    app.theme = DARK
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        for step in STEPS:
            if step.key:
                await pilot.press(step.key)
            await settled(pilot)
            taken.append(whole_of(app))
    return taken


def animated(screens: Sequence[list[Strip]], steps: Sequence[Step] = STEPS) -> str:
    """Return an animated SVG that shows each screen for its duration, in a loop.

    A viewer without animation (or with reduced motion) shows the last screen.
    """
    width, height = SIZE[0] * WIDTH, SIZE[1] * HEIGHT
    total = sum(step.seconds for step in steps)
    rules, groups, begun = [], [], 0.0
    for index, (screen, step) in enumerate(zip(screens, steps, strict=True)):
        picture = svg(screen)
        letters, _, body = picture.partition("<style>")[2].partition("</style>")
        name = f"f{index}"
        rules += [f".{name} {rule}" for rule in re.findall(r"^\.\w+\{.*\}$", letters, re.MULTILINE)]
        first, last = 100 * begun / total, 100 * (begun + step.seconds) / total
        shown = f"{first:.2f}%,{last - 0.01:.2f}%{{visibility:visible}}"
        hidden = "".join(f"{at}{{visibility:hidden}}" for at in _outside(first, last))
        rules += [f"@keyframes {name}{{{hidden}{shown}}}", f".{name}{{animation:{name} {total:g}s step-end infinite}}"]
        if index < len(steps) - 1:
            rules.append(f".{name}{{visibility:hidden}}")
        key = f'<tspan class="key">{step.key}</tspan>  ' if step.key else ""
        caption = f'<text class="caption" x="{WIDTH}" y="{height + 32}">{key}{step.caption}</text>'
        drawn = body.partition("</svg>")[0].strip()
        groups.append(f'<g class="{name}">{drawn}\n{caption}</g>')
        begun += step.seconds
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + BAR}" font-size="19.6">',
            "<title>karptui on its demo cluster: 6, n, enter</title>",
            "<style>text{font-family:Fira Code,DejaVu Sans Mono,monospace;white-space:pre}",
            ".caption{fill:#e0e0e0;font-size:22px}.key{fill:#ffa62b;font-weight:bold}",
            *rules,
            "@media (prefers-reduced-motion:reduce){g{animation:none!important}}",
            "</style>",
            f'<path fill="#121212" d="M0 0h{width}v{height + BAR}H0"/>',
            *groups,
            "</svg>",
            "",
        )
    )


def _outside(first: float, last: float) -> list[str]:
    return [*(["0%"] if first else []), *([f"{last:.2f}%"] if last < 100 else [])]


def main() -> None:
    """Write the picture."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EvidenceSource, "want_usage", lambda _: None)
        PICTURE.write_text(animated(asyncio.run(frames())), encoding="utf-8")


if __name__ == "__main__":
    main()
