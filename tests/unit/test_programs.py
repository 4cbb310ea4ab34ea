"""FinQA programs: tokens, values, and when two of them are one."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.scoring.program_equality import equal_programs
from pytest_fineval.scoring.programs import MAX_TOKENS, OPERATIONS, execute, tokenize
from tests.shared import shared

TABLE = [["", "2008", "2007"], ["revenue", "$ 1,200.5", "900.25 ( a )"], ["empty"], ["notes", "x"]]


def value(program: str, **options: bool) -> object:
    outcome = execute(tokenize(program), TABLE, **options)
    return outcome.value if outcome.valid else "invalid"


def equal(gold: str, answer: str, **options: bool) -> bool:
    return equal_programs(tokenize(gold), tokenize(answer), **options)


@pytest.mark.parametrize(
    ("program", "tokens"),
    [
        ("add(1, 2)", ["add(", "1", "2", ")", "EOF"]),
        ("add(1,2)", ["add(", "1,2", ")", "EOF"]),
        ("add(1,000, 2), add(#0, 1)", ["add(", "1,000", "2", ")", "add(", "#0", "1", ")", "EOF"]),
        ("", ["EOF"]),
    ],
)
def test_a_program_is_cut_at_comma_and_blank_and_at_parentheses(program, tokens):
    assert tokenize(program) == tokens


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("subtract(153.7, 139.9), divide(#0, 139.9)", 0.09864),
        ("divide(1, 3), multiply(#0, 3)", 1.0),
        ("add(5%, const_m1)", -0.95),
        ("greater(2, 2)", "no"),
        ("table_sum(revenue, none)", 2100.75),
        ("table_sum(empty, none)", 0),
        ("table_max(revenue, none), table_min(#0, none)", 900.25),
        ("", "n/a"),
    ],
)
def test_a_program_has_the_value_of_its_last_step(program, expected):
    assert value(program) == expected


@pytest.mark.parametrize(
    "program",
    [
        "divide(1, 0)",
        "exp(1e200, 2)",
        "exp(-8, 0.5)",
        "add(1,2)",
        "add($5, 1)",
        "add(#0, 1)",
        "greater(1, 2), add(#0, 1)",
        "table_max(Revenue, none)",
        "table_max(notes, none)",
        "add(1, 2), table_max(#0, none)",
        "divide(subtract(5, 3), 3)",
        "94",
    ],
)
def test_an_invalid_program_has_no_value(program):
    assert value(program) == "invalid"


def test_a_lone_number_is_a_program_of_a_turn_only():
    assert value("5%", single_number=True) == 0.05
    assert value("5%") == "invalid"
    assert equal("5%", "5%", single_number=True)
    assert not equal("5%", "0.05", single_number=True)


def test_a_true_stored_answer_does_not_equal_one():
    assert not execute(tokenize("add(0, 1)")).matches(True)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("add(1, 2), multiply(#0, 3)", "multiply(2, 3), multiply(1, 3), add(#1, #0)"),
        ("add(1, 2), divide(#0, 3)", "divide(1, 3), divide(2, 3), add(#0, #1)"),
        ("subtract(1, 2), divide(#0, 2)", "divide(1, 2), divide(2, 2), subtract(#0, #1)"),
        ("divide(1, 2), divide(#0, 3)", "multiply(2, 3), divide(1, #0)"),
        ("add(7, 1), subtract(10, 5)", "subtract(10, 5)"),
        ("table_max(a, none), add(#0, 5)", "table_max(a, none), add(5, #0)"),
        ("subtract(1, 2), greater(#0, 3)", "add(2, 3), greater(1, #0)"),
        ("exp(1, 2), multiply(#0, #0)", "add(2, 2), exp(1, #0)"),
    ],
)
def test_the_same_formula_written_otherwise_is_equal(gold, answer):
    assert equal(gold, answer)
    assert equal(gold, gold)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (
            "add(1, 2), multiply(#0, #0)",
            "multiply(1, 1), multiply(1, 2), multiply(2, 2), add(#0, #1), add(#1, #2), add(#3, #4)",
        ),
        (
            "multiply(3, 3), multiply(2, 2), subtract(#0, #1)",
            "add(3, 2), subtract(3, 2), multiply(#0, #1)",
        ),
        ("multiply(2, 2)", "exp(2, const_2)"),
        ("subtract(10, 5), divide(#0, 5)", "divide(10, 5), subtract(#0, const_1)"),
        ("divide(10, 5)", "divide(10.0, 5)"),
        (
            "table_max(a, none), table_min(a, none), subtract(#0, #1)",
            "table_min(a, none), table_max(a, none), subtract(#1, #0)",
        ),
        ("greater(3, 2)", "greater(2, 3)"),
        ("subtract(10, 5)", "add(#1, 5), subtract(10, 5)"),
        ("greater(1, 2)", "greater(1, 2), add(#0, 1)"),
    ],
)
def test_what_the_published_scorer_does_not_see_as_equal_is_not_equal(gold, answer):
    assert not equal(gold, answer)


@pytest.mark.parametrize("gold", ["", "add(1)", "add(#3, 1)", "add(add(1, 2), 3)"])
def test_a_broken_gold_equals_nothing_and_raises_nothing(gold):
    assert not equal(gold, "add(1, 2)")


ARGUMENTS = st.sampled_from(
    ["1", "2", "#0", "#1", "#2", "5%", "const_2", "0", "1e308", "none", "revenue", "-1"]
)
PROGRAMS = st.lists(
    st.tuples(st.sampled_from(sorted(OPERATIONS)), ARGUMENTS, ARGUMENTS), max_size=8
).map(lambda steps: ", ".join(f"{op}({first}, {second})" for op, first, second in steps))
ANYTHING = PROGRAMS | st.text(alphabet="add()#0, tblemx_1|%.", max_size=60) | st.text(max_size=40)


@given(PROGRAMS | st.text(alphabet="add()#0, 1|", max_size=40), ANYTHING)
def test_no_program_raises(gold, answer):
    outcome = execute(tokenize(answer), TABLE)
    assert outcome.valid == (outcome.reason is None)
    assert equal(gold, answer) in (True, False)


@st.composite
def swapped_pairs(draw):
    """A program, and the same with the arguments of its sums and products swapped."""
    steps, swapped = [], []
    for place in range(draw(st.integers(1, 6))):
        op = draw(st.sampled_from(["add", "subtract", "multiply", "divide"]))
        known = ["3", "5", "const_2", *(f"#{earlier}" for earlier in range(place))]
        first, second = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        steps.append(f"{op}({first}, {second})")
        if op in {"add", "multiply"} and draw(st.booleans()):
            first, second = second, first
        swapped.append(f"{op}({first}, {second})")
    return ", ".join(steps), ", ".join(swapped)


@given(swapped_pairs())
def test_swapping_the_arguments_of_sums_and_products_changes_nothing(pair):
    assert equal(*pair)


@settings(deadline=None)
@given(st.sampled_from(["add", "multiply", "divide", "subtract", "exp", "greater"]))
def test_chains_that_double_at_every_step_end(op):
    chain = ["add(1, 2)", *(f"{op}(#{i}, #{i})" for i in range(MAX_TOKENS // 4 - 1))]
    program = ", ".join(chain)
    assert execute(tokenize(program)).valid in (True, False)
    assert equal(program, program) in (True, False)
    assert not execute(tokenize(program + ", add(1, 1)")).valid


def test_text_that_doubles_at_every_step_ends():
    program = ", ".join(["greater(2, 1)", *(f"add(#{i}, #{i})" for i in range(900)), "add(1, 1)"])
    assert value(program) == "invalid"


@pytest.mark.parametrize("name", ["dev_sample.jsonl", "train_sample.jsonl"])
def test_gold_programs_give_the_stored_answers_and_equal_themselves(name):
    for line in shared(f"data/finqa/{name}").open(encoding="utf-8"):
        record = json.loads(line)
        tokens = tokenize(record["qa"]["program"])
        assert execute(tokens, record["table"]).matches(record["qa"]["exe_ans"]), record["id"]
        assert equal_programs(tokens, tokens), record["id"]


def test_gold_programs_of_all_conversation_turns_give_the_stored_answers():
    turns = 0
    for line in shared("data/convfinqa/dev_conversations.jsonl").open(encoding="utf-8"):
        record = json.loads(line)
        annotation = record["annotation"]
        for program, exe_ans in zip(
            annotation["turn_program"], annotation["exe_ans_list"], strict=True
        ):
            tokens = tokenize(program)
            outcome = execute(tokens, record["table"], single_number=True)
            assert outcome.matches(exe_ans), record["id"]
            assert equal_programs(tokens, tokens, single_number=True)
            turns += 1
    assert turns > 400
