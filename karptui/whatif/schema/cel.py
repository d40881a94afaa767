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
    yield "sets.contains", 0, False, truth, [many, many], lambda one, two: all(item in one for item in two)
    yield "sets.intersects", 0, False, truth, [many, many], lambda one, two: any(item in one for item in two)
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
    yield "sign", 0, True, kinds.INT, [tagged], lambda one: _sign(_nano(one))
    yield "isInteger", 0, True, kinds.BOOL, [tagged], lambda one: _nano(one) % NANO == 0
    yield "asInteger", 0, True, kinds.INT, [tagged], as_integer
    yield "asApproximateFloat", 0, True, kinds.DOUBLE, [tagged], lambda one: _nano(one) / NANO
    for name, factor in (("add", 1), ("sub", -1)):
        yield name, 0, True, tagged, [tagged, tagged], _adder(factor)
        yield name, 1, True, tagged, [tagged, kinds.INT], _adder(factor)


def _network_functions(tagged: Any) -> Iterator[_Row]:
    kinds = cel.Type
    text, truth = kinds.STRING, kinds.BOOL
    yield "url", 0, False, tagged, [text], url
    yield "isURL", 0, False, truth, [text], lambda given: _accepts(url, given)
    yield from ((name, 0, True, text, [tagged], part) for name, part in _URL_PARTS.items())
    yield "getQuery", 0, True, kinds.Map(text, kinds.List(text)), [tagged], lambda one: parse_qs(_split(one).query)
    yield "ip", 0, False, tagged, [text], ip
    yield "isIP", 0, False, truth, [text], lambda given: _accepts(ip, given)
    yield "cidr", 0, False, tagged, [text], cidr
    yield "isCIDR", 0, False, truth, [text], lambda given: _accepts(cidr, given)
    yield "family", 0, True, kinds.INT, [tagged], lambda one: ipaddress.ip_address(one["ip"]).version
    yield "containsIP", 0, True, truth, [tagged, text], lambda net, one: _within(net, ip(one)["ip"])
    yield "containsIP", 1, True, truth, [tagged, tagged], lambda net, one: _within(net, one["ip"])
    yield (
        "prefixLength",
        0,
        True,
        kinds.INT,
        [tagged],
        lambda one: ipaddress.ip_network(one["cidr"], strict=False).prefixlen,
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


def equivalent(one: list[Any], two: list[Any]) -> bool:
    """Say whether two lists hold the same items, however often."""
    return all(item in two for item in one) and all(item in one for item in two)


def quantity(text: str) -> dict[str, str]:
    """Read a quantity."""
    parse_quantity(text)
    return {"quantity": text}


def as_integer(one: Mapping[str, str]) -> int:
    """Return a whole quantity as a number.

    Raises:
        ValueError: if it has a fraction.
    """
    if _nano(one) % NANO:
        raise ValueError(f"{one['quantity']} is not a whole number")
    return _nano(one) // NANO


def _nano(one: Mapping[str, str]) -> int:
    return parse_quantity(one["quantity"]).nano


def _sign(nano: int) -> int:
    return (nano > 0) - (nano < 0)


_COMPARISONS: dict[str, Callable[[int], bool | int]] = {
    "compareTo": lambda order: order,
    "isGreaterThan": lambda order: order > 0,
    "isLessThan": lambda order: order < 0,
}


def _comparison(body: Callable[[int], bool | int]) -> Callable[[Any, Any], bool | int]:
    return lambda one, two: body(_sign(_nano(one) - _nano(two)))


def _adder(factor: int) -> Callable[[Any, Any], dict[str, str]]:
    def add(one: Mapping[str, str], two: Mapping[str, str] | int) -> dict[str, str]:
        other = two * NANO if isinstance(two, int) else _nano(two)
        return {"quantity": str(Quantity(_nano(one) + factor * other))}

    return add


def url(text: str) -> dict[str, str]:
    """Read an absolute URL or an absolute path."""
    parts = urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        raise ValueError(f"{text!r} is not a URL")
    return {"url": text}


def _split(one: Mapping[str, str]) -> Any:
    return urlsplit(one["url"])


_URL_PARTS: dict[str, Callable[[Any], str]] = {
    "getScheme": lambda one: str(_split(one).scheme),
    "getHost": lambda one: str(_split(one).netloc.rpartition("@")[2]),
    "getHostname": lambda one: str(_split(one).hostname or ""),
    "getPort": lambda one: str(_split(one).port or ""),
    "getEscapedPath": lambda one: str(_split(one).path),
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
