"""Functions that Kubernetes adds to CEL (``apiserver/pkg/cel/library``), on top of CEL's own and its string extension.

Values of types that exist only in rules (quantity, URL, IP address, CIDR) are maps with one field named after the type.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cel_expr_python import cel

from karptui.kube.quantity import NANO, Quantity, parse_quantity
from karptui.whatif.schema.formats import compiled


def declarations() -> list[Any]:
    """Declare the functions with their types, for a CEL environment."""
    overloads: dict[str, list[Any]] = {}
    for name, index, member, result, parameters, body in _functions():
        overload = cel.Overload(
            f"kubernetes_{name.replace('.', '_')}_{index}",
            return_type=result,
            parameters=parameters,
            is_member=member,
            impl=body,
        )
        overloads.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, overload) for name, overload in overloads.items()]


_Row = tuple[str, int, bool, Any, list[Any], Callable[..., Any]]


def _functions() -> Iterator[_Row]:
    kinds = cel.Type
    text, number, truth, anything = kinds.STRING, kinds.INT, kinds.BOOL, kinds.DYN
    many, tagged = kinds.List(kinds.DYN), kinds.Map(kinds.STRING, kinds.DYN)
    yield "find", 0, True, text, [text, text], find
    yield "findAll", 0, True, kinds.List(text), [text, text], find_all
    yield "findAll", 1, True, kinds.List(text), [text, text, number], find_all
    yield "isSorted", 0, True, truth, [many], lambda items: items == sorted(items)
    yield "sum", 0, True, anything, [many], lambda items: sum(items) if items else 0
    yield "min", 0, True, anything, [many], min
    yield "max", 0, True, anything, [many], max
    yield "sets.contains", 0, False, truth, [many, many], lambda items, subset: all(item in items for item in subset)
    yield "sets.intersects", 0, False, truth, [many, many], lambda left, right: any(item in left for item in right)
    yield "sets.equivalent", 0, False, truth, [many, many], equivalent
    yield from _quantity_functions(tagged)
    yield from _network_functions(tagged)


def _quantity_functions(tagged: Any) -> Iterator[_Row]:
    kinds = cel.Type
    yield "quantity", 0, False, tagged, [kinds.STRING], quantity
    yield "isQuantity", 0, False, kinds.BOOL, [kinds.STRING], lambda given: _accepts(parse_quantity, given)
    for name, body in _COMPARISONS.items():
        result = kinds.INT if name == "compareTo" else kinds.BOOL
        yield name, 0, True, result, [tagged, tagged], _comparison(body)
    yield "sign", 0, True, kinds.INT, [tagged], lambda amount: _sign(_nano(amount))
    yield "isInteger", 0, True, kinds.BOOL, [tagged], lambda amount: _nano(amount) % NANO == 0
    yield "asInteger", 0, True, kinds.INT, [tagged], as_integer
    yield "asApproximateFloat", 0, True, kinds.DOUBLE, [tagged], lambda amount: _nano(amount) / NANO
    for name, factor in (("add", 1), ("sub", -1)):
        yield name, 0, True, tagged, [tagged, tagged], _adder(factor)
        yield name, 1, True, tagged, [tagged, kinds.INT], _adder(factor)


def _network_functions(tagged: Any) -> Iterator[_Row]:
    kinds = cel.Type
    text, truth = kinds.STRING, kinds.BOOL
    yield "url", 0, False, tagged, [text], url
    yield "isURL", 0, False, truth, [text], lambda given: _accepts(url, given)
    yield from ((name, 0, True, text, [tagged], part) for name, part in _URL_PARTS.items())
    yield "getQuery", 0, True, kinds.Map(text, kinds.List(text)), [tagged], lambda uri: parse_qs(_split(uri).query)
    yield "ip", 0, False, tagged, [text], ip
    yield "isIP", 0, False, truth, [text], lambda given: _accepts(ip, given)
    yield "cidr", 0, False, tagged, [text], cidr
    yield "isCIDR", 0, False, truth, [text], lambda given: _accepts(cidr, given)
    yield "family", 0, True, kinds.INT, [tagged], lambda address: ipaddress.ip_address(address["ip"]).version
    yield "containsIP", 0, True, truth, [tagged, text], lambda net, address: _within(net, ip(address)["ip"])
    yield "containsIP", 1, True, truth, [tagged, tagged], lambda net, address: _within(net, address["ip"])
    yield (
        "prefixLength",
        0,
        True,
        kinds.INT,
        [tagged],
        lambda net: ipaddress.ip_network(net["cidr"], strict=False).prefixlen,
    )


def find(text: str, pattern: str) -> str:
    """Give the first match of a pattern, or nothing."""
    match = _pattern(pattern).search(text)
    return match.group(0) if match else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Give the matches of a pattern, at most ``limit`` of them if that is not negative."""
    groups = [match.group(0) for match in _pattern(pattern).finditer(text)]
    return groups if limit < 0 else groups[:limit]


def _pattern(pattern: str) -> re.Pattern[str]:
    expression = compiled(pattern)
    if expression is None:
        raise ValueError(f"the pattern {pattern} cannot be read")
    return expression


def equivalent(left: list[Any], right: list[Any]) -> bool:
    """Say whether two lists hold the same items, however often."""
    return all(item in right for item in left) and all(item in left for item in right)


def quantity(text: str) -> dict[str, str]:
    """Read a quantity."""
    parse_quantity(text)
    return {"quantity": text}


def as_integer(amount: Mapping[str, str]) -> int:
    """Return a whole quantity as a number.

    Raises:
        ValueError: if it has a fraction.
    """
    if _nano(amount) % NANO:
        raise ValueError(f"{amount['quantity']} is not a whole number")
    return _nano(amount) // NANO


def _nano(amount: Mapping[str, str]) -> int:
    return parse_quantity(amount["quantity"]).nano


def _sign(nano: int) -> int:
    return (nano > 0) - (nano < 0)


_COMPARISONS: dict[str, Callable[[int], bool | int]] = {
    "compareTo": lambda order: order,
    "isGreaterThan": lambda order: order > 0,
    "isLessThan": lambda order: order < 0,
}


def _comparison(body: Callable[[int], bool | int]) -> Callable[[Any, Any], bool | int]:
    return lambda left, right: body(_sign(_nano(left) - _nano(right)))


def _adder(factor: int) -> Callable[[Any, Any], dict[str, str]]:
    def add(left: Mapping[str, str], right: Mapping[str, str] | int) -> dict[str, str]:
        other = right * NANO if isinstance(right, int) else _nano(right)
        return {"quantity": str(Quantity(_nano(left) + factor * other))}

    return add


def url(text: str) -> dict[str, str]:
    """Read an absolute URL or an absolute path."""
    parts = urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        raise ValueError(f"{text!r} is not a URL")
    return {"url": text}


def _split(uri: Mapping[str, str]) -> Any:
    return urlsplit(uri["url"])


_URL_PARTS: dict[str, Callable[[Any], str]] = {
    "getScheme": lambda uri: str(_split(uri).scheme),
    "getHost": lambda uri: str(_split(uri).netloc.rpartition("@")[2]),
    "getHostname": lambda uri: str(_split(uri).hostname or ""),
    "getPort": lambda uri: str(_split(uri).port or ""),
    "getEscapedPath": lambda uri: str(_split(uri).path),
}


def ip(text: str) -> dict[str, str]:
    """Read an IP address; an IPv4 address in IPv6's clothing and zones are refused as Kubernetes does."""
    address = ipaddress.ip_address(text)
    if "%" in text or (isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped):
        raise ValueError(f"{text!r} is not an IP address that Kubernetes takes")
    return {"ip": text}


def cidr(text: str) -> dict[str, str]:
    """Read a range of IP addresses."""
    if "/" not in text:
        raise ValueError(f"{text!r} has no prefix length")
    ipaddress.ip_network(text, strict=False)
    return {"cidr": text}


def _within(net: Mapping[str, str], address: str) -> bool:
    return ipaddress.ip_address(address) in ipaddress.ip_network(net["cidr"], strict=False)


def _accepts(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True
