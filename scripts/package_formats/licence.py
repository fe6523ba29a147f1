"""Licence expressions: whether an expression of SPDX is met by a list of allowed licences."""

from __future__ import annotations

import re
from collections.abc import Collection


def is_allowed(expression: str, allowed: Collection[str]) -> bool:
    """Returns whether one may choose only allowed licences and meet the expression.

    `WITH` belongs to the licence before it: `A WITH E` is not `A`. A slash, as in old manifests,
    is `OR`. An expression that cannot be read is not met.
    """
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    try:
        met, rest = _alternatives(words, allowed)
    except IndexError:
        return False
    return met and not rest


def _alternatives(words: list[str], allowed: Collection[str]) -> tuple[bool, list[str]]:
    met, rest = _conjunction(words, allowed)
    while rest and rest[0] == "OR":
        other, rest = _conjunction(rest[1:], allowed)
        met = met or other
    return met, rest


def _conjunction(words: list[str], allowed: Collection[str]) -> tuple[bool, list[str]]:
    met, rest = _licence(words, allowed)
    while rest and rest[0] == "AND":
        other, rest = _licence(rest[1:], allowed)
        met = met and other
    return met, rest


def _licence(words: list[str], allowed: Collection[str]) -> tuple[bool, list[str]]:
    if words[0] == "(":
        met, rest = _alternatives(words[1:], allowed)
        if rest[0] != ")":
            raise IndexError
        return met, rest[1:]
    name, rest = words[0], words[1:]
    if rest and rest[0] == "WITH":
        name, rest = f"{name} WITH {rest[1]}", rest[2:]
    return name in allowed, rest
