from __future__ import annotations

import pytest

from karptui.session.predictions import PredictionKind, Share
from karptui.views.history import prediction_text

PLACEMENT, COMMAND = PredictionKind.PLACEMENT, PredictionKind.COMMAND


@pytest.mark.parametrize(("shares", "text"), [
    ({}, ""),
    ({PLACEMENT: Share(), COMMAND: Share(0, 0, 2)}, ""),
    ({PLACEMENT: Share(125, 2), COMMAND: Share()}, "predictions: 125 of 127 placements right (98 %)"),
    ({PLACEMENT: Share(1), COMMAND: Share(7, 1, 3)},
     "predictions: 1 of 1 placement right (100 %), 7 of 8 commands right (88 %), 3 overtaken by other changes"),
])  # fmt: skip
def test_the_shares_of_true_predictions_are_shown_by_kind(shares: dict[PredictionKind, Share], text: str) -> None:
    assert prediction_text(shares) == text
