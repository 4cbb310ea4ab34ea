"""Values of Python expressions without evaluating them as code.

Two published scorers call `eval` on model text. This reader gives the same values for what such
text can sensibly hold: literals, arithmetic, comparisons, logic, sequences and a few named
functions of numbers. It walks a syntax tree, never runs one, and bounds length, depth and the size
of numbers.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

MAX_LENGTH = 1_000
"""Longer texts are not read: no answer is an expression of that length."""

MAX_BITS = 4_096
"""Largest whole number, in bits."""


class NoValueError(ValueError):
    """`eval` would fail on the text, or what it gives is beyond the bounds."""


class Opaque:
    """What `eval` gives for the name of a function or module: a thing that is no answer."""


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitXor: operator.xor,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "round": round,
    "min": min,
    "max": max,
    "sum": sum,
    "int": int,
    "float": float,
}
_MATH: Mapping[str, Callable[..., Any]] = {
    "pow": math.pow,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log10": math.log10,
    "ceil": math.ceil,
    "floor": math.floor,
}


def read_expression(text: str, *, with_math: bool = False) -> Any:
    """The value of a Python expression.

    Args:
        text: the expression.
        with_math: names of the math module are known, as `math.pow(10, 2)`.

    Returns:
        A number, bool, text, None, list, tuple or set of these, or an Opaque.

    Raises:
        NoValueError: `eval` would raise, or the value is out of bounds.
    """
    if len(text) > MAX_LENGTH:
        raise NoValueError("too long")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "100or 200" warns, and is as good as a failure
            tree = ast.parse(text.lstrip(" \t"), mode="eval")
        return _Reader(with_math).read(tree.body)
    except NoValueError:
        raise
    except (SyntaxError, ValueError, TypeError, ArithmeticError) as error:
        raise NoValueError(str(error)) from error
    except (RecursionError, MemoryError) as error:
        raise NoValueError("nested too deep") from error


class _Reader:
    def __init__(self, with_math: bool):
        self.with_math = with_math

    def read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return self._bounded(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.read(operand)
            case ast.BoolOp(op=op, values=values):
                return self._either(values, stops_at=isinstance(op, ast.Or))
            case ast.UnaryOp(op=op, operand=operand):
                return self._bounded(_UNARY[type(op)](self._number(operand)))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._number(left), self._number(right))
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._compare(self.read(left), ops, others)
            case ast.Tuple(elts=items):
                return tuple(self.read(item) for item in items)
            case ast.List(elts=items):
                return [self.read(item) for item in items]
            case ast.Set(elts=items):
                return {self.read(item) for item in items}
            case ast.Dict(keys=[]):
                return Opaque()
            case ast.Call(func=function, args=arguments, keywords=[]):
                return self._call(function, [self.read(item) for item in arguments])
            case ast.Name(id=name) if hasattr(builtins, name):
                return Opaque()
        raise NoValueError("not an expression of numbers")

    def _number(self, node: ast.expr) -> Any:
        value = self.read(node)
        # Anything else multiplies or repeats: "9" * 10**9.
        if not isinstance(value, int | float | complex):
            raise NoValueError("arithmetic on something that is no number")
        return value

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        if type(op) not in _BINARY:
            raise NoValueError("unknown operator")
        if isinstance(left, int) and isinstance(right, int) and right > 0:
            grows = {ast.Pow: left.bit_length() * right, ast.LShift: left.bit_length() + right}
            if grows.get(type(op), 0) > MAX_BITS:
                raise NoValueError("too large")
        return self._bounded(_BINARY[type(op)](left, right))

    def _either(self, values: list[ast.expr], *, stops_at: bool) -> Any:
        value: Any = None
        for each in values:
            value = self.read(each)
            if bool(value) == stops_at:
                break
        return value

    def _compare(self, left: Any, ops: list[ast.cmpop], others: list[ast.expr]) -> bool:
        for op, other in zip(ops, others, strict=True):
            right = self.read(other)
            if type(op) not in _COMPARE:
                raise NoValueError("unknown comparison")
            if not _COMPARE[type(op)](left, right):
                return False
            left = right
        return True

    def _call(self, function: ast.expr, arguments: list[Any]) -> Any:
        call: Callable[..., Any] | None = None
        match function:
            case ast.Name(id=name):
                call = _FUNCTIONS.get(name)
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if self.with_math:
                call = _MATH.get(name)
        if call is None:
            raise NoValueError("unknown function")
        return self._bounded(call(*arguments))

    def _bounded(self, value: Any) -> Any:
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise NoValueError("too large")
        if isinstance(value, int | float | complex | str) or value is None:
            return value
        return Opaque()
