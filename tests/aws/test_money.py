from __future__ import annotations

import pytest

from karptui.aws.money import change_text, node_price_text, per_hour_text, per_month_text, saved_text, total_text


@pytest.mark.parametrize(
    ("currency", "price", "total"),
    [
        ("USD", "$0.0960", "$25.08/h · $18,308/mo"),
        ("CNY", "¥0.0960", "¥25.08/h · ¥18,308/mo"),
        ("EUR", "EUR 0.0960", "EUR 25.08/h · EUR 18,308/mo"),
    ],
)
def test_four_digits_for_one_node_and_two_for_sums(currency: str, price: str, total: str) -> None:
    assert node_price_text(0.096, currency) == price
    assert total_text(25.08, currency) == total
    assert f"{per_hour_text(25.08, currency)} · {per_month_text(25.08, currency)}" == total


def test_a_change_has_its_sign() -> None:
    assert [change_text(amount) for amount in (5.42, -1234.5)] == ["+5.42 $/h", "-1,234.50 $/h"]


def test_savings_format() -> None:
    assert saved_text(0.383) == "saves $0.3830/h"
    assert saved_text(-0.5, digits=2) == "costs $0.50/h more"
    assert saved_text(0.001, digits=2) == "saves nothing"
    assert saved_text(1.5, digits=2, is_whole=False, is_upper_bound=True) == "saves up to $1.50/h+"
