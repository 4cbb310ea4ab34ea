"""Rows of the benchmark scorers: programs, program pairs, and six published answer metrics."""

from __future__ import annotations

import math
from typing import Any

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.scoring.official import (
    financemath,
    financereasoning,
    finqa,
    indiafinbench,
    jfinqa,
    tatqa,
)
from pytest_fineval.scoring.program_equality import equal_programs
from pytest_fineval.scoring.programs import execute, tokenize
from pytest_fineval.scoring.registry import prepare
from tests.vectors.schemas import Row, Schema


def same(got: Any, expected: Any) -> bool:
    """Equal in value and kind; "nan" and "inf" stand for what JSON cannot hold, -0.0 is not 0.0."""
    if isinstance(got, float) and not math.isfinite(got):
        return str(got) == str(expected)
    if isinstance(got, bool) or isinstance(expected, bool):
        return got is expected
    if isinstance(got, int | float) and isinstance(expected, int | float):
        return got == expected and math.copysign(1, got) == math.copysign(1, expected)
    return bool(got == expected)


def differences(**pairs: tuple[Any, Any]) -> list[str]:
    """The fields whose two values differ, with both."""
    return [
        f"{name} {got!r}, not {expected!r}"
        for name, (got, expected) in pairs.items()
        if not same(got, expected)
    ]


def score(name: str, text: str, gold: Gold, **options: Any) -> float:
    """The value that a registered scorer gives."""
    return prepare(ScorerSpec(name=name, **options), gold).score(text).value


def check_program(row: Row) -> list[str]:
    """One program: its tokens, its verdict, its value, and the stored answer where there is one."""
    turn = "leftover_result_when_invalid" not in row
    outcome = execute(row["tokens"], row["table"], single_number=turn)
    pairs = {
        "invalid": (int(not outcome.valid), row["invalid"]),
        "result": (outcome.value, row["result"]),
    }
    if row["program"] is not None:
        pairs["tokens"] = (tokenize(row["program"]), row["tokens"])
    if "exe_ans" in row:
        pairs["equal to exe_ans"] = (outcome.matches(row["exe_ans"]), True)
        scorer = "convfinqa/official" if turn else "finqa/official"
        value = score(
            scorer,
            row["program"],
            Gold(answer=row["exe_ans"], program=row["program"]),
            table=row["table"],
        )
        pairs["score"] = (value, 1.0)
    return differences(**pairs)


def check_pair(row: Row) -> list[str]:
    """Two programs: symbolic equality, as function and as scorer."""
    gold = tokenize(row["gold"])
    found = differences(equal=(equal_programs(gold, row["pred_tokens"]), row["equal"]))
    if row["pred"] is not None:
        result = finqa.score_program(tokenize(row["pred"]), gold, 0.0)
        found += differences(program=(result.program, row["equal"]))
    return found


def check_tatqa(row: Row) -> list[str]:
    """The three figures of one prediction, or the exception that the published metric ends with."""
    gold = row["gold"]
    got = tatqa.score(
        gold["answer_type"], gold["answer"], gold["scale"], row["pred"], row["pred_scale"]
    )
    if row["error"]:
        return differences(
            error=(got.error, row["error"]), figures=((got.em, got.f1, got.scale), (0.0, 0.0, 0.0))
        )
    return differences(
        em=(got.em, row["em"]),
        f1=(got.f1, row["f1"]),
        scale_score=(got.scale, row["scale_score"]),
        error=(got.error, None),
    )


def check_tatqa_text(row: Row) -> list[str]:
    """One text: is it a number, which, and what it is compared as."""
    text = row["text"]
    return differences(
        is_number=(tatqa.is_number(text), row["is_number"]),
        to_number=(tatqa.to_number(text), row["to_number"]),
        normalized=(tatqa.normalize(text), row["normalized"]),
    )


def check_jfinqa(row: Row) -> list[str]:
    """One pair of answers: normal forms, numbers, and the three matches."""
    answer, gold = row["pred"], row["gold"]
    wanted = Gold(answer=gold)
    return differences(
        norm_pred=(jfinqa.normalize(answer), row["norm_pred"]),
        norm_gold=(jfinqa.normalize(gold), row["norm_gold"]),
        num_pred=(jfinqa.read_number(answer), row["num_pred"]),
        num_gold=(jfinqa.read_number(gold), row["num_gold"]),
        exact_match=(jfinqa.exact_match(answer, gold), row["exact_match"]),
        one_percent=(
            bool(score("jfinqa/official", answer, wanted)),
            row["numerical_match_1pct"],
        ),
        per_mille=(
            bool(score("jfinqa/official", answer, wanted, rel_tol=0.001)),
            row["numerical_match_0.1pct"],
        ),
    )


TYPES = {
    "float": float,
    "complex": complex,
    "tuple": lambda text: tuple(map(int, text[1:-1].split(","))),
}


def check_tolerance(row: Row) -> list[str]:
    """One answer under both tolerance scorers, as text or as a value that code returned."""
    answer, gold = row["pred"], row["gold"]
    reasoning, mathematics = row["financereasoning"], row["financemath"]
    if "pred_type" in row:
        answer = TYPES.get(row["pred_type"], lambda value: value)(answer)
        return differences(
            reasoning=(int(financereasoning.accurate(answer, gold)), reasoning["acc"]),
            mathematics=(int(financemath.accurate_value(answer, gold)), mathematics["acc_pot"]),
        )
    value = financereasoning.normalize(answer)
    if isinstance(value, list | tuple):
        value = str(value)
    wanted = Gold(answer=gold)
    return differences(
        normalized=(value, reasoning["normalized"]),
        reasoning=(int(score("financereasoning/official", answer, wanted)), reasoning["acc"]),
        text=(int(score("financemath/official", answer, wanted)), mathematics["acc_cot"]),
        code=(int(financemath.accurate_value(answer, gold)), mathematics["acc_pot"]),
    )


def check_indiafinbench(row: Row) -> list[str]:
    """One answer: normal forms, similarity to 1e-9, and the verdict."""
    reference, answer = row["reference"], row["pred"]
    wanted, seen = indiafinbench.normalize(reference), indiafinbench.normalize(answer)
    ratio = 100 * indiafinbench.similarity(wanted, seen)
    value = score(
        "indiafinbench/official", answer, Gold(answer=reference), task_type=row["task_type"]
    )
    return differences(
        norm_reference=(wanted, row["norm_reference"]),
        norm_pred=(seen, row["norm_pred"]),
        ratio=(abs(ratio - row["token_set_ratio"]) < 1e-9, True),
        correct=(int(value), row["correct"]),
    )


def _has(*fields: str) -> Any:
    return lambda row: set(fields) <= row.keys()


SCHEMAS = [
    Schema("programs", _has("program", "tokens", "table", "invalid", "result"), check_program),
    Schema("program_pairs", _has("gold", "pred", "pred_tokens", "equal"), check_pair),
    Schema("tatqa_metric", _has("gold", "pred", "pred_scale", "em", "f1"), check_tatqa),
    Schema("tatqa_normalize", _has("text", "is_number", "to_number"), check_tatqa_text),
    Schema("jfinqa_metric", _has("norm_pred", "num_pred", "exact_match"), check_jfinqa),
    Schema("tolerance", _has("pred", "gold", "financereasoning", "financemath"), check_tolerance),
    Schema(
        "indiafinbench",
        _has("reference", "pred", "task_type", "token_set_ratio", "correct"),
        check_indiafinbench,
    ),
]
