from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from karptui.views.column import Field, FieldKind, parse_duration
from karptui.views.filters import QueryError, Subject, compile_query, parse_query

GI = 1 << 30
NOW_NS = 1_000_000_000_000


@dataclass(frozen=True)
class Thing:
    name: str
    pool: str | None = None
    why: tuple[str, ...] = ()
    cpu_millis: int | None = None
    memory_bytes: int = 0
    age_seconds: float = 0
    price: float | None = None
    labels: dict[str, str] = field(default_factory=dict)


SUBJECT: Subject[Thing] = Subject(
    text=lambda thing: f"{thing.name} {thing.pool or ''}".lower(),
    fields={
        "pool": Field(FieldKind.TEXT, lambda thing, _: thing.pool),
        "why": Field(FieldKind.TEXT, lambda thing, _: thing.why),
        "cpu": Field(
            FieldKind.CPU,
            lambda thing, _: thing.cpu_millis,
            share=lambda thing: None if thing.cpu_millis is None else thing.cpu_millis / 40,
        ),
        "mem": Field(FieldKind.BYTES, lambda thing, _: thing.memory_bytes),
        "age": Field(FieldKind.DURATION, lambda thing, now_ns: thing.age_seconds + (now_ns - NOW_NS) / 1e9),
        "pods": Field(FieldKind.COUNT, lambda thing, _: 3),
        "$": Field(FieldKind.MONEY, lambda thing, _: thing.price),
    },
    labels=lambda thing: thing.labels,
)
UNLABELLED: Subject[Thing] = Subject(text=SUBJECT.text, fields={})

THINGS = (
    Thing("ip-1", "spot-a", ("DND", "PDB"), 3600, 4 * GI, 3600, 0.6, {"team": "ci", "tier": "gold"}),
    Thing("ip-2", "general", (), 400, 8 * GI, 90_000, 0.4, {"team": "web"}),
    Thing("Ip-3", None, ("NOFIT",), None, 0, 30, None),
)


def matching(text: str) -> list[str]:
    test = compile_query(parse_query(text, SUBJECT), SUBJECT, NOW_NS)
    return [thing.name for thing in THINGS if test(thing)]


@pytest.mark.parametrize(("text", "names"), [
    ("", ["ip-1", "ip-2", "Ip-3"]),
    ("'' \"\"", ["ip-1", "ip-2", "Ip-3"]),
    ("IP-3", ["Ip-3"]),
    ("!spot", ["ip-2", "Ip-3"]),
    ("ip-? spot*", ["ip-1"]),
    ("!ip-*general", ["ip-1", "Ip-3"]),
    ("pool=spot*", ["ip-1"]),
    ("pool!=spot*", ["ip-2", "Ip-3"]),
    ("!pool=spot-a,general", ["Ip-3"]),
    ("pool==SPOT-A, general", []),
    ("pool='spot-a, general'", ["ip-1", "ip-2"]),
    ("pool=", ["Ip-3"]),
    ("why=dnd", ["ip-1"]),
    ("why=", ["ip-2"]),
    ("cpu>80%", ["ip-1"]),
    ("cpu<=400m", ["ip-2"]),
    ("cpu>2", ["ip-1"]),
    ("!cpu>2", ["ip-2"]),
    ("mem<=4Gi", ["ip-1", "Ip-3"]),
    ("mem=8Gi", ["ip-2"]),
    ("mem!=8Gi", ["ip-1", "Ip-3"]),
    ("age<2h", ["ip-1", "Ip-3"]),
    ("age>=1d1h", ["ip-2"]),
    ("age<45", ["Ip-3"]),
    ("pods=3 $>0.5", ["ip-1"]),
    ("$<$0.5", ["ip-2"]),
    ("-l team=ci", ["ip-1"]),
    ("-l team!=ci", ["ip-2", "Ip-3"]),
    ("-l team,tier==gold", ["ip-1"]),
    ("-l !tier", ["ip-2", "Ip-3"]),
    ("-l 'team in (ci, web)'", ["ip-1", "ip-2"]),
    ("-l 'team notin (ci)'", ["ip-2", "Ip-3"]),
    ('"cpu>80%"', []),
    ("'!spot", []),
])  # fmt: skip
def test_filters_match_by_value_name_and_label(text: str, names: list[str]) -> None:
    assert matching(text) == names


@pytest.mark.parametrize(("text", "sentence"), [
    ("cpuu>80%", 'no field is called cpuu: did you mean cpu? To look for the text itself, write "cpuu>80%".'),
    ("zzz=1",
     ('no field is called zzz: there are pool, why, cpu, mem, age, pods, $. To look for the text itself, write '
      '"zzz=1".')),
    ("cpu>", "cpu> takes a value such as 500m, 2 or 80%; nothing follows"),
    ("cpu>1e999", "cpu> takes a value such as 500m, 2 or 80%; '1e999' is not one"),
    ("mem>80%", "mem> takes a value such as 4Gi; '80%' is not one"),
    ("cpu>x%", "cpu> takes a value such as 500m, 2 or 80%; 'x%' is not one"),
    ("age<soon", "age< takes a value such as 2h; 'soon' is not one"),
    ("age<2h!", "age< takes a value such as 2h; '2h!' is not one"),
    ("$>much", "$> takes a value such as 0.5; 'much' is not one"),
    ("pool>a", "pool is text: use pool=… or pool!=…, not pool>a"),
    ("a ! b", "! needs a word after it: !spot hides every row that contains spot"),
    ("-l", "-l needs a label selector after it, such as -l team=ci"),
    ("-l \"'a=b'\"", "'a=b' contains quotes, which a label cannot: write a=b"),
    ("-l 'a=\"b\"'", 'a="b" contains quotes, which a label cannot: write a=b'),
    ("-l 'a in (\"b\",c)'", 'a in ("b",c) contains quotes, which a label cannot: write a in (b,c)'),
    ("-l a=b*", "'b*' in 'a=b*' cannot be the value of a label: letters, digits, '-', '_' and '.' can"),
    ("-l a~b", "'a~b' is not a label selector: write k=v, k!=v, k, !k or 'k in (a,b)'"),
])  # fmt: skip
def test_errors_list_valid_values(text: str, sentence: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text, SUBJECT)
    assert str(caught.value) == sentence


def test_label_filters_need_rows_with_labels() -> None:
    with pytest.raises(QueryError, match="no labels"):
        parse_query("-l a=b", UNLABELLED)
    query = parse_query("-l a=b", SUBJECT)
    assert not compile_query(query, UNLABELLED, NOW_NS)(THINGS[0])


@pytest.mark.parametrize("text", ["", "x", "2h x", "h2", "2hx3m"])
def test_invalid_durations_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)
