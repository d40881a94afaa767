"""The five stories played through in the pane, and what it answers."""

from __future__ import annotations

import pytest

from karptui.app import KarptuiApp
from karptui.whatif.difference import Difference
from tests.ui.whatif.bench import begin, make_app, prepare, press


def difference(app: KarptuiApp) -> Difference:
    """Return what the answer of the first scenario comes to."""
    answer = app.whatif.book.answers[0]
    assert answer is not None
    assert answer.difference is not None
    return answer.difference


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch)


async def test_a_document_that_is_open_is_gone_to_and_not_opened_twice() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot)
        for _ in range(2):
            await press(pilot, "a", *"open", "enter", *"Job gitlab/ci-4700", "enter")
            assert screen.edit_pane.document is not None
            assert screen.edit_pane.document.kind == "Job"
        assert [item.kind for item in screen.whatif.documents.parsed.documents] == ["NodePool", "EC2NodeClass", "Job"]
