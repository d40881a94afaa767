from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from karptui.config import Banner
from karptui.decode.errors import field_error

HOSTILE = "\x1b[31m"


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    count: int | None = None
    share: float | int | None = None
    is_on: bool = False
    size: Annotated[int, msgspec.Meta(ge=0, le=9)] = 0
    values: list[str] | None = None


class Outer(msgspec.Struct):
    name: str
    labels: dict[str, str] | None = None
    amounts: dict[str, str | int | float | None] = {}
    parts: list[Inner] = []
    by_name: dict[str, Inner] = {}
    banner: Banner = Banner.CALM


@pytest.mark.parametrize(("raw", "sentence"), [
    ({"name": 5}, "name: must be text, is a number: write it in quotes"),
    ({"name": True}, "name: must be text, is true or false: write it in quotes"),
    ({"name": None}, "name: must be text, is null"),
    ({"name": []}, "name: must be text, is a list"),
    ({}, "name: is missing"),
    ({"name": "x", "labels": []}, "labels: must be an object, is a list"),
    ({"name": "x", "labels": {"app": "web", "version": 1.1}},
     "labels.version: must be text, is a number: write it in quotes"),
    ({"name": "x", "labels": {"app.kubernetes.io/version": 2}},
     "labels[app.kubernetes.io/version]: must be text, is a number: write it in quotes"),
    ({"name": "x", "labels": {HOSTILE: None}}, f"labels[{HOSTILE}]: must be text, is null"),
    ({"name": "x", "labels": {7: "a"}}, "labels: its keys must be text"),
    ({"name": "x", "amounts": {"cpu": []}}, "amounts.cpu: must be text or a number, is a list"),
    ({"name": "x", "parts": {}}, "parts: must be a list, is an object"),
    ({"name": "x", "parts": [{}, {"count": "3"}]},
     "parts[1].count: must be a whole number, is text: write it without quotes"),
    ({"name": "x", "parts": [{"count": "three"}]}, "parts[0].count: must be a whole number, is text"),
    ({"name": "x", "parts": [{"count": 1.5}]},
     "parts[0].count: must be a whole number, has a fraction or is too large"),
    ({"name": "x", "parts": [{"share": "-2"}]},
     "parts[0].share: must be a number, is text: write it without quotes"),
    ({"name": "x", "parts": [{"is_on": "true"}]},
     "parts[0].is_on: must be true or false, is text: write it without quotes"),
    ({"name": "x", "parts": [{"is_on": "yes"}]}, "parts[0].is_on: must be true or false, is text"),
    ({"name": "x", "parts": [{"values": ["a", 4]}]},
     "parts[0].values[1]: must be text, is a number: write it in quotes"),
    ({"name": "x", "by_name": {"a": {}, "b": {"cuont": 1}}}, "by_name.b.cuont: there is no such field"),
    ({"name": "x", "by_name": {"a": {}, "b": {"count": []}}}, "by_name.b.count: must be a whole number, is a list"),
    ({"name": "x", "by_name": {"a": {"size": 10}}}, "by_name.a.size: must be a number up to 9"),
    ({"name": "x", "by_name": {"a": {"size": -1}}}, "by_name.a.size: must be a number from 0 up"),
    ({"name": "x", "parts": [{"share": "0.7"}]},
     "parts[0].share: must be a number, is text: write it without quotes"),
    ({"name": "x", "parts": [{"count": "0.7"}]}, "parts[0].count: must be a whole number, is text"),
    ({"name": "x", "banner": "loud"}, "banner: invalid enum value 'loud'"),
    (5, "must be an object, is a number"),
])  # fmt: skip
def test_error_names_field_and_expected_type(raw: Any, sentence: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(raw, Outer)
    assert str(field_error(caught.value, raw)) == sentence


def test_error_has_only_the_path_without_the_value() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert({"name": "x", "parts": [{}, {"values": [4]}], "by_name": {}}, Outer)
    assert str(field_error(caught.value)) == "parts[1].values[0]: must be text, is a number: write it in quotes"
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert({"name": "x", "labels": {"a": 4}}, Outer)
    assert str(field_error(caught.value, {"labels": 5})) == "labels: must be text, is a number: write it in quotes"
