"""Rewrite the sections of docs/advice.md from the rules: python tools/make_advice_docs.py."""

from __future__ import annotations

from pathlib import Path

from karptui.advice.catalogue import BEGIN, sections

PAGE = Path(__file__).parent.parent / "docs" / "advice.md"


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.partition(BEGIN)[0] + sections(), encoding="utf-8")


if __name__ == "__main__":
    main()
