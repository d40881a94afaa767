"""The tools of `karptui mcp`: the command line of each call, and answers of limited size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from karptui.views.sanitize import clean

MOST_TEXT: Final = 256 << 10
"""Longest text of manifests or edits, in characters."""
_WORD: Final = "[a-zA-Z0-9][a-zA-Z0-9._:-]{0,252}"
_NAME: Final = rf"(?!.*\.(json|yaml|yml|gz|karptui)$){_WORD}(/{_WORD})?"
"""Of an object: neither a flag nor a file."""
_MOMENT: Final = r"[-0-9TZ:.smhd]{1,40}"
_TEXT: Final = rf"[\s\S]{{1,{MOST_TEXT}}}"
_TIMES: Final = "14:02 (UTC), -20m or RFC 3339."
_EDITS: Final = (
    "YAML: name, replay (pending, scratch, remove, next) and edits, such as {edit: set, object: NodePool/general,"
    " path: spec.weight, value: 10} or {edit: removeNode, name: NAME}."
)


class Argument(NamedTuple):
    """An argument of a tool, a string."""

    name: str
    about: str
    pattern: str
    word: str = "{}"
    """Word of the command line; empty if the value is its standard input."""
    is_required: bool = False


_AT: Final = Argument("at", f"A past moment of the recorded history: {_TIMES}", _MOMENT, "--at={}")
_WHAT: Final = "Why a pod is pending, why a node is still here, or which pods a NodePool takes."
_KIND: Final = Argument("kind", "pod, node or pool.", "pod|node|pool", is_required=True)
_OBJECT: Final = Argument("name", "Its name; of a pod NAMESPACE/NAME.", _NAME, is_required=True)
_NAMESPACE: Final = Argument("namespace", "Only pods of this namespace.", _NAME, "--namespace={}")
_SCENARIO: Final = Argument("scenario", _EDITS, _TEXT, "", is_required=True)
_MANIFESTS: Final = Argument("manifests", "YAML of the objects to apply.", _TEXT, "", is_required=True)
_HORIZON: Final = Argument("horizon", "Length of the forecast, such as 90m or 6h.", "[0-9.smhd]{1,20}", "--horizon={}")
_FROM: Final = Argument("from", f"First moment (default: -30m): {_TIMES}", _MOMENT, "--from={}")
_TO: Final = Argument("to", f"Last moment: {_TIMES}", _MOMENT, "--to={}")


class Tool(NamedTuple):
    """A tool: a command that prints JSON."""

    name: str
    command: str
    """The command, and words that are always given."""
    about: str
    arguments: tuple[Argument, ...]


TOOLS: Final = (
    Tool("verdict", "verdict", "Problems of the cluster, worst first, with cost and objects.", (_AT,)),
    Tool("explain", "explain", _WHAT, (_KIND, _OBJECT, _AT)),
    Tool("next", "next", "Karpenter's next disruption command, and the nodes removable once unblocked.", (_AT,)),
    Tool("pending", "pending", "Pending pods with causes and the messages about them.", (_NAMESPACE, _AT)),
    Tool("what_if", "simulate --scenario=-", "The effect of edits. Nothing is applied.", (_SCENARIO,)),
    Tool("plan", "plan --filename=-", "The effect of applying manifests. Nothing is applied.", (_MANIFESTS, _HORIZON)),
    Tool("forward", "forward", "A forecast of Karpenter's decisions, nodes and cost.", (_HORIZON,)),
    Tool("changes", "changes", "What changed between two moments of the recorded history.", (_FROM, _TO)),
)
"""In the order of the docs."""
TOOL_OF: Final = MappingProxyType({tool.name: tool for tool in TOOLS})
_CUT: Final = {"list": {"type": "string"}, "kept": {"type": "integer"}, "of": {"type": "integer"}}
_PARTS: Final = {
    "answer": {"description": "The JSON of the command."},
    "notes": {"type": "array", "items": {"type": "string"}},
    "leftOff": {"type": "array", "items": {"type": "object", "required": list(_CUT), "properties": _CUT}},
}
OUTPUT: Final[dict[str, Any]] = {"type": "object", "required": list(_PARTS), "properties": _PARTS}
"""Schema of every answer."""


class ToolError(Exception):
    """A request that cannot be answered; the message is for the assistant."""


def input_schema(tool: Tool) -> dict[str, Any]:
    """Return the schema of a tool's arguments."""
    return {
        "type": "object",
        "properties": {
            argument.name: {"type": "string", "description": argument.about, "pattern": f"^({argument.pattern})$"}
            for argument in tool.arguments
        },
        "required": [argument.name for argument in tool.arguments if argument.is_required],
        "additionalProperties": False,
    }


class Line(NamedTuple):
    """A command line without the cluster, and the moment of the history (empty for now)."""

    tool: str
    words: tuple[str, ...]
    stdin: str
    at: str


def command_line(name: str, arguments: Mapping[str, Any]) -> Line:
    """Return the command line of a call.

    Raises:
        ToolError: There is no such tool, or an argument is missing, unknown or invalid.
    """
    if name not in TOOL_OF:
        raise ToolError(f"there is no tool {clean(name)}; the tools: {', '.join(TOOL_OF)}")
    tool = TOOL_OF[name]
    names = {argument.name for argument in tool.arguments}
    for other in arguments:
        if other not in names:
            raise ToolError(f"{name}: there is no argument {clean(other)}; its arguments: {', '.join(sorted(names))}")
    words, stdin, at = tool.command.split(), "", ""
    for argument in tool.arguments:
        value = arguments.get(argument.name)
        if value is None or value == "":
            if argument.is_required:
                raise ToolError(f"{name}: {argument.name} is missing: {argument.about}")
        elif not isinstance(value, str) or not re.fullmatch(argument.pattern, value):
            raise ToolError(f"{name}: {argument.name} is invalid: {argument.about}")
        elif argument is _AT:
            at = value
        elif argument.word:
            words.append(argument.word.format(value))
        else:
            stdin = value
    return Line(name, (*words, "-o", "json"), stdin, at)


def shortened(answer: Any, most: int) -> tuple[Any, list[dict[str, Any]]]:
    """Return an answer of at most this many bytes, and the lists that were cut.

    Lists keep their first items, at least one, so that the answer still conforms to its schema.

    Raises:
        ToolError: It is larger even then.
    """
    lengths: dict[str, int] = {}
    while (excess := _size(answer) - most) > 0:
        cuttable = [(path, items) for path, items in _lists(answer, "answer") if len(items) > 1]
        if not cuttable:
            raise ToolError(f"the answer is larger than {most:,} bytes; ask about less, or raise --kilobytes")
        path, items = max(cuttable, key=lambda entry: _size(entry[1][1:]))
        lengths.setdefault(path, len(items))
        while len(items) > 1 and excess > 0:
            excess -= _size(items.pop())
    left = [(path, len(items)) for path, items in _lists(answer, "answer") if path in lengths]
    return answer, [{"list": path, "kept": kept, "of": lengths[path]} for path, kept in left]


def _size(value: Any) -> int:
    return len(json.dumps(value))


def _lists(value: Any, path: str) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(value, list):
        yield path, value
    if isinstance(value, list | dict):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _lists(item, f"{path}.{name}" if isinstance(value, dict) else f"{path}[{name}]")
