from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from karptui.kube.yaml_reader import MAX_DEPTH, YamlError, load_documents
from karptui.whatif.edits import ObjectRef
from karptui.whatif.yaml.tree import ProblemSeverity, parse, trail

from .yaml_texts import texts

BUFFER = """\
# a header
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
# its end
---

---
kind: 5
"""


def test_gives_each_document_its_lines_and_names() -> None:
    parsed = parse(BUFFER)
    assert [
        (item.index, item.first_line, item.last_line, item.kind, item.api_version, item.name, item.namespace)
        for item in parsed.documents
    ] == [
        (0, 2, 5, "NodePool", "karpenter.sh/v1", "general", ""),
        (1, 7, 10, "Deployment", "apps/v1", "web", "shop"),
        (2, 14, 14, "", "", "", ""),
    ]
    assert parsed.problems == ()
    assert all(BUFFER[document.offset :].startswith(document.text) for document in parsed.documents)
    assert parsed.documents[1].ref == ObjectRef("Deployment", "web", "shop")


def test_finds_documents_by_object_and_line() -> None:
    parsed = parse(BUFFER)
    assert parsed.find(ObjectRef("Deployment", "web", "shop")) is parsed.documents[1]
    assert parsed.find(ObjectRef("Deployment", "web")) is parsed.documents[1]
    assert parsed.find(ObjectRef("NodePool", "general", "x")) is parsed.documents[0]
    assert parsed.find(ObjectRef("Deployment", "web", "other")) is None
    assert parsed.at_line(9) is parsed.documents[1]
    assert parsed.at_line(12) is None


@pytest.mark.parametrize(("text", "line", "column", "words"), [
    ("a:\n\tb: 1\n", 1, 0, "a tab"),
    ("a: \tb\n\tc: 1\n", 1, 0, "a tab"),
    ("a: 1\nb: 2\na: 3\n", 2, 0, "a is given twice"),
    ("a: 1\nb: *x\n", 1, 3, "*x refers to an anchor"),
    ("a: b: c\n", 0, 4, "a colon is not expected here"),
    ("a: 1\nspec: {cpu: 1\nb: 2\n", 1, 6, "{ is not closed"),
    ("values: [a, b\nb: 2\n", 0, 8, "[ is not closed"),
    ("a: 1\nb: 'x\n", 1, 3, "the quote that was opened is not closed"),
    ('a: 1\nb: "x\n', 1, 3, "the quote that was opened is not closed"),
    ("a:\n  b: 1\n c: 2\n", 2, 1, "a field name is expected here"),
    ("a:\n- b\nc\n", 2, 0, "a colon is missing"),
    ("a: - b\n", 0, 3, "a list item (-) is not expected here"),
    ("a: @b\n", 0, 3, "quote it"),
    ("a: \x01\n", 0, 3, "a control character"),
    ("a: \ud800\n", 0, 3, "half of a character"),
    ("- a\n", 0, 0, "a document has fields"),
    ("[a]: 1\n", 0, 0, "a field name must be text"),
    ("? \n: 1\n", 0, 1, "a field name must be text"),
    ("a: .inf\n", 0, 3, "infinity"),
    ("a: !!int x\n", 0, 3, "x cannot be a whole number"),
    ("a: !mine x\n", 0, 3, "the tag !mine"),
    ("a: 1\n...\nb: 2\n", 2, 0, "a new document starts here"),
    ("a: &x 1\n<<: *x\n", 1, 4, "<< merges mappings only"),
    ("a: |\n  x\n b\n", 2, 1, "a field name is expected here"),
    ("%YAML 9.9\n---\na: 1\n", 0, 0, "incompatible YAML"),
])  # fmt: skip
def test_problems_have_a_message_and_a_position(text: str, line: int, column: int, words: str) -> None:
    problems = parse(text).problems
    assert problems, text
    problem = problems[0]
    assert words in problem.message
    assert (problem.line, problem.column) == (line, column)
    assert problem.end_column > problem.column
    assert problem.severity is ProblemSeverity.ERROR


def test_parsing_stops_before_memory_is_exhausted() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcde", "bcdef", strict=True)
    )
    assert f"more than {200_000:,} values" in parse(bomb).problems[0].message
    deep = "a: " + "[" * (MAX_DEPTH + 5)
    assert f"nested more than {MAX_DEPTH} levels" in parse(deep).problems[0].message
    assert parse("a: " + "[" * 50 + "]" * 50).documents[0].body is not None


def test_aliases_and_merge_keys_are_followed() -> None:
    body = (
        parse("base: &b {x: 1, q: 2}\none: *b\ntwo:\n  <<: *b\n  q: 3\nthree:\n  <<: [*b, {z: 4}]\n").documents[0].body
    )
    assert body is not None
    assert body["one"] == {"x": 1, "q": 2}
    assert body["two"] == {"x": 1, "q": 3}
    assert body["three"] == {"x": 1, "q": 2, "z": 4}


def test_numbers_and_booleans_as_field_names_become_text() -> None:
    assert parse("1: a\n1.5: b\ntrue: c\n'<<': d\n").documents[0].body == {"1": "a", "1.5": "b", "true": "c", "<<": "d"}


def test_explicit_tags_give_types() -> None:
    body = parse("a: !!str 1\nb: !!float 2\nc: !!null ''\nd: ! 5\ne: !!bool yes\n").documents[0].body
    assert body == {"a": "1", "b": 2.0, "c": None, "d": "5", "e": True}
    assert isinstance(body["b"], float)


def test_document_markers_may_share_their_line() -> None:
    parsed = parse("--- {kind: A}\n--- # words\nkind: B\r\n---\r\nkind: C\r\n")
    assert [document.kind for document in parsed.documents] == ["A", "B", "C"]
    assert parse("\ufeffkind: A\n").documents[0].offset == 1
    assert parse("\ufeffkind: A\nkind: B\n").problems[0].line == 1
    assert parse("%YAML 1.1\n---\nkind: A\n").documents[0].kind == "A"


def test_a_problem_over_several_lines_marks_the_first_line() -> None:
    problem = parse('x: !mine "a\n  b"\n').problems[0]
    assert (problem.line, problem.column, problem.end_column) == (0, 3, 11)
    crlf = parse('x: !mine "a\r\n  b"\r\n').problems[0]
    assert crlf.end_column == 11


def test_positions_are_counted_in_characters() -> None:
    document = parse("a: 😀\nb: 'é'  # x\n").documents[0]
    assert document.root is not None
    node, _ = trail(document.root, ("b",))[-1]
    assert document.text[node.start : node.end] == "'é'"


def test_finds_nodes_by_path() -> None:
    document = parse("spec:\n  taints:\n  - key: a\n").documents[0]
    assert document.root is not None
    nodes = trail(document.root, ("spec", "taints", 0, "key"))
    assert (nodes[-1][0].value, len(nodes)) == ("a", 5)
    assert len(trail(document.root, ("spec", "taints", 1, "key"))) == 3
    assert len(trail(document.root, ("spec", "limits", "cpu"))) == 2
    nodes = trail(document.root, ("spec", "taints", 0, "value"))
    assert (nodes[-1][0].value, nodes[-1][1], len(nodes)) == ({"key": "a"}, None, 4)


@given(texts())
def test_reads_as_kubectl_does(drawn: tuple[str, object]) -> None:
    assert parse(drawn[0]).documents[0].body == load_documents(drawn[0].encode())[0]


@given(st.text(alphabet="0123456789+-._eExXoObBabcdfinyNTtrue~:", min_size=1, max_size=8))
def test_scalars_are_resolved_as_by_the_snapshot_reader(word: str) -> None:
    # The snapshot reader treats 0_x1 as text; it does not occur in practice.
    assume(not re.search("0_+[xXbBoO]", word))
    try:
        theirs = load_documents(f"a: {word}\n".encode())[0]["a"]
    except YamlError:
        return
    ours = parse(f"a: {word}\n").documents[0].body
    if ours is not None and not parse(f"a: {word}\n").problems:
        assert (type(ours["a"]), ours["a"]) == (type(theirs), theirs)
