"""Whether two FinQA programs compute the same formula, as the published scorer decides it.

The published scorer gives every literal and every table step of the gold a symbol, expands both
programs and asks a computer algebra system to simplify both formulas: they are equal when the
results are written alike. Here the formulas are brought into one normal form instead. It collects
like terms, cancels factors and takes common factors out of sums, and it never multiplies sums
out: so commutation, association and distribution over a factor or divisor are seen, while
(a + b)^2 against its expansion is not, as in the published scorer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_fineval.scoring.programs import (
    MAX_TOKENS,
    OVER_ROW,
    InvalidProgramError,
    Step,
    has_structure,
    parse,
)

MAX_TERMS = 400
"""Terms of one sum, beyond which formulas are not compared."""

MAX_EXPONENT = 10**6
"""Largest whole exponent, beyond which formulas are not compared."""

MAX_NUMBER_EXPONENT = 64
"""The same where a number other than 1 is raised."""


def equal_programs(
    gold: Sequence[str], answer: Sequence[str], *, single_number: bool = False
) -> bool:
    """Whether a predicted program equals the gold program symbolically.

    Args:
        gold: tokens of the gold program, `EOF` last.
        answer: tokens of the prediction; the last one is dropped, whatever it is.
        single_number: ConvFinQA's addition: a gold of one token equals only that token.

    Returns:
        True where both normal forms are the same. False for a prediction without structure, with
        a literal or table step that the gold lacks, with a reference to its own or a later step,
        and for a gold that cannot be expanded. Never raises.

    Source: FinQA evaluation script, revision 0f16e286; ConvFinQA, revision cf3eed2d.
    """
    wanted, seen = list(gold[:-1]), list(answer[:-1])
    if single_number and len(wanted) == 1:
        return len(answer) == 2 and answer[0] == wanted[0]
    if max(len(wanted), len(seen)) > MAX_TOKENS or not has_structure(seen):
        return False
    try:
        gold_steps, steps = parse(wanted), parse(seen)
        symbols = _symbols(gold_steps)
        _check(steps, symbols)
        algebra = _Algebra()
        return _normal_form(gold_steps, symbols, algebra) == _normal_form(steps, symbols, algebra)
    except (InvalidProgramError, _NotComparableError, TypeError, ArithmeticError):
        return False


class _NotComparableError(Exception):
    """A formula that the published scorer fails on, or too large to compare."""


def _symbols(steps: Sequence[Step]) -> dict[str, int]:
    # Literals count as written, so 5 and 5.0 differ. A table step counts with its joining bar, so
    # the same step at the head of a program and further on are two: a defect that is kept.
    symbols: dict[str, int] = {}
    for step in steps:
        names = [step.text] if step.op in OVER_ROW else [step.first, step.second]
        for name in names:
            if step.op in OVER_ROW or "#" not in name:
                symbols.setdefault(name, len(symbols))
    return symbols


def _check(steps: Sequence[Step], symbols: Mapping[str, int]) -> None:
    for place, step in enumerate(steps):
        names = [step.text] if step.op in OVER_ROW else [step.first, step.second]
        for name in names:
            if step.op not in OVER_ROW and "#" in name:
                if _reference(name.strip("#")) >= place:
                    raise InvalidProgramError("a reference to the step itself or a later one")
            elif name not in symbols:
                raise InvalidProgramError("a literal or table step that the gold lacks")


def _reference(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise InvalidProgramError("not a reference") from None


@dataclass(frozen=True, slots=True)
class _Product:
    """A number times atoms with whole exponents.

    `atoms` is sorted by atom; an atom is a symbol, a sum or a power, known by the number that
    `_Algebra` gave it.
    """

    factor: Fraction
    atoms: tuple[tuple[int, int], ...] = ()

    def times(self, number: Fraction) -> _Product:
        return _Product(self.factor * number, self.atoms)


_Terms = tuple[_Product, ...]
"""A formula as a sum: no two terms with the same atoms, none of them 0; empty for 0."""


@dataclass(frozen=True, slots=True)
class _Comparison:
    """`difference > 0`, the difference freed of its size."""

    difference: _Product


_Formula = _Terms | _Comparison | bool

_ONE = Fraction(1)


def _normal_form(
    steps: Sequence[Step], symbols: Mapping[str, int], algebra: _Algebra
) -> _Product | _Comparison | bool:
    if not steps:
        raise InvalidProgramError("no step")
    done: dict[int, _Formula] = {}
    for place, step in enumerate(steps):
        try:
            done[place] = _formula(step, done, symbols, algebra)
        except (KeyError, InvalidProgramError, _NotComparableError):
            # Steps that the last one does not reach may be anything.
            continue
    last = done.get(len(steps) - 1)
    if last is None:
        raise InvalidProgramError("the last step cannot be expanded")
    return algebra.factored(last) if isinstance(last, tuple) else last


def _formula(
    step: Step, done: Mapping[int, _Formula], symbols: Mapping[str, int], algebra: _Algebra
) -> _Formula:
    if step.op in OVER_ROW:
        return algebra.symbol(symbols[step.text])
    first, second = (
        done[_reference(name.replace("#", ""))] if "#" in name else algebra.symbol(symbols[name])
        for name in (step.first, step.second)
    )
    if not isinstance(first, tuple) or not isinstance(second, tuple):
        raise _NotComparableError("arithmetic on yes or no")
    match step.op:
        case "add":
            return algebra.add(first, second)
        case "subtract":
            return algebra.add(first, algebra.scale(second, -_ONE))
        case "multiply":
            return algebra.multiply(first, second)
        case "divide":
            return algebra.multiply(first, algebra.power(second, -1))
        case "exp":
            return algebra.raise_to(first, second)
        case "greater":
            return algebra.greater(first, second)
    raise InvalidProgramError("no operation")


class _Algebra:
    """Numbers atoms, so that equal sums are one atom and comparing two formulas costs little."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._sums: dict[int, _Terms] = {}

    def _atom(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def symbol(self, number: int) -> _Terms:
        """The formula that is one symbol."""
        return (_Product(_ONE, ((self._atom(("symbol", number)), 1),)),)

    def scale(self, formula: _Terms, number: Fraction) -> _Terms:
        """The formula times a number other than 0."""
        return tuple(term.times(number) for term in formula)

    def add(self, first: _Terms, second: _Terms) -> _Terms:
        """The sum, like terms collected; a term that is nothing but a sum joins with its terms."""
        factors: dict[tuple[tuple[int, int], ...], Fraction] = {}
        for whole in (*first, *second):
            for term in self._parts(whole):
                factors[term.atoms] = factors.get(term.atoms, Fraction(0)) + term.factor
        terms = tuple(_Product(factor, atoms) for atoms, factor in factors.items() if factor)
        if len(terms) > MAX_TERMS:
            raise _NotComparableError("a sum of too many terms")
        return terms

    def _parts(self, term: _Product) -> _Terms:
        if len(term.atoms) == 1 and term.atoms[0][1] == 1:
            inner = self._sums.get(term.atoms[0][0])
            if inner:
                return self.scale(inner, term.factor)
        return (term,)

    def multiply(self, first: _Terms, second: _Terms) -> _Terms:
        """The product: a number goes to every term, sums are factors and are not multiplied out."""
        for one, other in ((first, second), (second, first)):
            if not one:
                return ()
            if len(one) == 1 and not one[0].atoms:
                return self.scale(other, one[0].factor)
        return (self._times(self.factored(first), self.factored(second)),)

    def _times(self, first: _Product, second: _Product) -> _Product:
        exponents = dict(first.atoms)
        for atom, exponent in second.atoms:
            exponents[atom] = exponents.get(atom, 0) + exponent
        return _product(first.factor * second.factor, exponents)

    def power(self, formula: _Terms, exponent: int) -> _Terms:
        """The formula to a whole power; 0 to a negative one is an atom of its own."""
        if not formula and exponent < 0:
            return (_Product(_ONE, ((self._atom("1/0"), 1),)),)
        if not formula and exponent:
            return ()
        base = self.factored(formula)
        if abs(exponent) > MAX_NUMBER_EXPONENT and abs(base.factor) != 1:
            raise _NotComparableError("a number to a large power")
        atoms = {atom: each * exponent for atom, each in base.atoms}
        return (_product(base.factor**exponent, atoms),)

    def raise_to(self, base: _Terms, exponent: _Terms) -> _Terms:
        """base ** exponent, carried out only for a whole number."""
        whole, raised = self.factored(exponent), self.factored(base)
        if not whole.atoms and whole.factor.denominator == 1:
            return self.power(base, whole.factor.numerator)
        if raised == _Product(_ONE):
            return base
        # a ** (2 b) is the square of a ** b, so that it equals a ** b times a ** b.
        times = whole.factor.numerator if whole.factor.denominator == 1 else 1
        rest = whole.times(Fraction(1, times))
        return (_product(_ONE, {self._atom(("power", raised, rest)): times}),)

    def greater(self, first: _Terms, second: _Terms) -> _Comparison | bool:
        """first > second as a statement about their difference."""
        difference = self.factored(self.add(first, self.scale(second, -_ONE)))
        if not difference.atoms:
            return difference.factor > 0
        return _Comparison(difference.times(1 / abs(difference.factor)))

    def factored(self, terms: _Terms) -> _Product:
        """The normal form: what the terms have in common, times one sum of what is left."""
        front = _Product(_ONE)
        while len(terms) > 1:
            common = _common(terms)
            if not common:
                return self._times(front, self._sum(terms))
            front = self._times(front, _product(_ONE, common))
            divisor = _product(_ONE, {atom: -each for atom, each in common.items()})
            # Freed of what is common, a term may be a sum itself: adding lets its terms join.
            terms = self.add(tuple(self._times(term, divisor) for term in terms), ())
        return self._times(front, terms[0]) if terms else _Product(Fraction(0))

    def _sum(self, terms: _Terms) -> _Product:
        ordered = sorted(terms, key=lambda term: term.atoms)
        size = Fraction(
            math.gcd(*(term.factor.numerator for term in ordered)),
            math.lcm(*(term.factor.denominator for term in ordered)),
        )
        if ordered[0].factor < 0:
            size = -size
        inner = self.scale(tuple(ordered), 1 / size)
        atom = self._atom(("sum", inner))
        self._sums[atom] = inner
        return _Product(size, ((atom, 1),))


def _product(factor: Fraction, exponents: Mapping[int, int]) -> _Product:
    if any(abs(each) > MAX_EXPONENT for each in exponents.values()):
        raise _NotComparableError("an exponent too large")
    return _Product(factor, tuple(sorted((a, e) for a, e in exponents.items() if e)))


def _common(terms: _Terms) -> dict[int, int]:
    """Atoms with the least exponent that they have in any term, where that is not 0."""
    tables = [dict(term.atoms) for term in terms]
    atoms = {atom for table in tables for atom in table}
    least = {atom: min(table.get(atom, 0) for table in tables) for atom in atoms}
    return {atom: exponent for atom, exponent in least.items() if exponent}
