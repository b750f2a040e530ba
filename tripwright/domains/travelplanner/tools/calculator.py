"""Arithmetic for the agent, bounded so that no expression can be slow, large or unsafe,
whatever a model writes.

The text is checked before it is parsed (length, characters, bracket nesting) and every intermediate
value after it is computed, so that `9**9**9` costs as little as `1+1`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from tripwright.tools.answer import ToolError

MAX_LENGTH = 500  # characters; a sum of every cost of a seven-day trip needs about 200
MAX_EXPONENT = 100
MAX_MAGNITUDE = 1e18

_FOREIGN = re.compile(r"[^0-9.eE+\-*/%() \t]")
_THOUSANDS = re.compile(r"\d,\d{3}")
_TOO_LARGE = f"A value of the expression is larger than {MAX_MAGNITUDE:.0e}."
_ONLY = "Only numbers, + - * / // % ** and brackets can be calculated"


def evaluate(expression: str) -> int | float:
    """The value of an arithmetic expression, as Python computes it. Raises ToolError for everything
    else."""
    text = expression.strip()
    if not text:
        raise _refused("The expression is empty.")
    if len(text) > MAX_LENGTH:
        raise _refused(
            f"The expression has {len(text)} characters; at most {MAX_LENGTH} can be calculated."
        )
    if _THOUSANDS.search(text):
        raise _refused("Write numbers without thousands separators: 1118, not 1,118.")
    if foreign := _FOREIGN.search(text):
        character = foreign.group()
        is_readable = character.isprintable() and character not in "<>"
        found = f"'{character}'" if is_readable else "an unreadable character"
        raise _refused(f"{_ONLY}; found {found}.")
    try:
        return _value(ast.parse(text, mode="eval").body)
    except ZeroDivisionError:
        raise _refused("Division by zero.") from None
    except OverflowError:
        raise _refused(_TOO_LARGE) from None
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _refused("The expression is not valid arithmetic.") from None


def _refused(why: str) -> ToolError:
    return ToolError(why, "arithmetic")


def _value(node: ast.expr) -> int | float:
    if isinstance(node, ast.BinOp):
        return _bounded(_COMBINED[type(node.op)](_value(node.left), _value(node.right)))
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return _bounded(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        operand = _value(node.operand)
        return -operand if isinstance(node.op, ast.USub) else operand
    raise _refused(f"{_ONLY}.")


def _power(base: int | float, right: int | float) -> Any:
    if abs(right) > MAX_EXPONENT:
        raise _refused(f"Exponents may be at most {MAX_EXPONENT}.")
    return base**right


_COMBINED: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}  # the characters that are let through can write no other


def _bounded(value: object) -> int | float:
    if not isinstance(value, int | float):
        raise _refused("The result is not a real number.")  # (-8) ** 0.5
    if not abs(value) <= MAX_MAGNITUDE:  # written so that nan fails too
        raise _refused(_TOO_LARGE)
    return value
