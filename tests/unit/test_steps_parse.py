"""Reading a chain: steps, their values, the final answer."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.scoring.chains.parse import MOST_STEPS, parse_chain
from pytest_fineval.scoring.chains.value import stated_value
from tests.shared import SHARED
from tests.vectors.__main__ import check_file
from tests.vectors.schemas import schemas

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


def told(text, locale="en"):
    chain = parse_chain(text, locale)
    values = [None if value is None else float(value) for value in chain.values]
    final = None if chain.final_answer is None else float(chain.final_answer)
    return values, final, chain.final_source


@pytest.mark.parametrize("folder", [VECTORS, SHARED / "reference"], ids=["committed", "shared"])
@pytest.mark.parametrize("name", ["step_parsing.jsonl", "chain_metrics.jsonl"])
def test_every_reference_row_agrees(folder, name):
    if not (folder / name).exists():
        pytest.skip("the reference rows are not part of this checkout")
    total, differing = check_file(folder / name, schemas())
    assert total >= 60
    assert not differing


@pytest.mark.parametrize(
    ("text", "locale", "value"),
    [
        ("Net loss = (500)", "en", -500),
        ("Charge is 26 (13% of 200)", "en", 26),
        ("Margin = 300 / 900, i.e. 33.33%", "en", 33.33),
        ("Ratio = 1.5 > 1.2", "en", 1.5),
        ("Value = 41.68 (115.19 - 73.51)", "en", 41.68),
        ("Net income = 750 - this is the answer", "en", 750),
        ("x = 12.33% - 4.55%", "en", None),
        ("x = 100 - tax", "en", None),
        ("x = 100 × rate", "en", None),
        ("100 divided by 4", "en", None),
        (r"PV = 400⁄1.1", "en", None),
        ("a range of 10–12%", "en", 12),
        ("Revenue was 500 in 2023.", "en", 500),
        ("Revenue = 410 in Q3 2024", "en", 410),
        ("EPS = $5.00/share", "en", 5),
        ("Bond B2 costs 98.5", "en", 98.5),
        ("198 502 - 100 = 198 402", "en", 198402),
        ("From Step 2 we know the rate", "en", None),
        ("Берём ставку из шага 2", "ru", None),
        ("Доход 120 000 руб. в 2023 году", "ru", 120000),
        ("Коэффициент = 1.268", "ru", 1.268),
        ("Коэффициент = 1,268", "ru", 1.268),
        ("Factor = 1,268", "en", 1268),
        ("Factor = 0,268", "en", 0.268),
        ("about 5% → 105", "en", 105),
    ],
)
def test_the_value_is_the_last_number_that_is_a_result(text, locale, value):
    found = stated_value(text, locale)
    assert (None if found is None else float(found)) == value


def test_a_lone_fraction_is_an_answer_but_no_evaluated_step():
    assert stated_value("3⁄4", answer=True) == Decimal("0.75")
    assert stated_value("3⁄4") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Step 1: A = 5. Step 2: B = 6. Answer: 6", ([5, 6], 6, "marker")),
        ("Step one: A = 5\nStep two: B = 6\nAnswer=6", ([5, 6], 6, "marker")),
        ("🚀 Step 1: A = 5\n✅ Answer: 5", ([5], 5, "marker")),
        (
            "| Step 1 | Base | 90,000 |\n| Step 2 | Charge | 18,000 |",
            ([90000, 18000], 18000, "last_step"),
        ),
        ("1. Income\n   - a = 100\n   - b = 20\n2. Total = 120", ([20, 120], 120, "last_step")),
        ("### 1. Revenue\n100 + 20 = 120\n### Answer\n120", ([120], 120, "marker")),
        ("- A\n  - cash = 100\n- Total = 120", ([100, 120], 120, "last_step")),
        ("## Solution\nThe tax is 13.\n## Answer\n13", ([13], 13, "marker")),
        ("Step 1: x = 5\n#### 5", ([5], 5, "marker")),
        ("Step 1: x = 5\n**Final Answer**\n5", ([5], 5, "marker")),
        ("Step 1: x = 5\nThe answer is found by adding 3.", ([3], 3, "last_step")),
        ("1. Доход: 100\n2. Итого: 120", ([100, 120], 120, "last_step")),
        ("Шаг 1: Доход = 100\nИтого: 120", ([100], 120, "marker")),
        ("\\boxed{5}\nAnswer: 4", ([], 5, "marker")),
        ("Step 1: x = 5\nSo we get \\boxed{6}.", ([5], 6, "marker")),
        ("Step 1: x = 5\nAnswer: N/A", ([5], None, None)),
        ("out</think>Step 1: x = 5", ([5], 5, "last_step")),
        (
            "<think>a</think>Step 1: x = 5\n<think>b = 9</think>Step 2: y = 6",
            ([5, 6], 6, "last_step"),
        ),
        ("```\nStep 1: x = 5\nAnswer: 5\n```", ([5], 5, "marker")),
        ("```python\nx = 7\n```", ([], None, None)),
        ("First, A = 5.\nFinally, the answer is 6.", ([5], 6, "marker")),
        ("Step 1: y = 6.\n\nNote: rounded to 2 decimals.", ([6], 6, "last_step")),
        ("<b>Step 1:</b> x = 5<br>\n<answer>6</answer>", ([5], 6, "marker")),
        ("Step 1: A = 3 =\nAnswer: in 2023", ([3], 2023, "marker")),
        ("Step 1: x = 5\u2028Answer: $20. This includes 2 fees.", ([5], 20, "marker")),
    ],
)
def test_layouts(text, expected):
    assert told(text, "ru" if "Шаг" in text or "Доход" in text else "en") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"steps": {"1": "A = 5"}, "answer": 5}', ([5], 5, "marker")),
        (
            '{"steps": [{"calculation": "10 + 5 = 15"}], "final_answer": {"value": 15}}',
            ([15], 15, "marker"),
        ),
        (
            '[{"description": "A", "value": 3}, {"description": "B", "value": 4}]',
            ([3, 4], 4, "last_step"),
        ),
        ('{"steps": [{"description": "Tax", "value": 26}, {"descr', ([26], 26, "last_step")),
        ('{"steps": [{"description": "Tax", "value": 26},], "answer": "26"}', ([26], 26, "marker")),
        ('{"steps": ["$\\frac{1}{2} = 0.5$"], "answer": "0.5"}', ([0.5], 0.5, "marker")),
        ('```json\n{"steps": ["A = 5"]}\n```\nAnswer: 6', ([5], 6, "marker")),
        ('Step 1: A = 5\n{"answer": 5}', ([5], 5, "marker")),
        (
            '{"steps": [{"description": "A", "value": true}], "answer": "none"}',
            ([None], None, None),
        ),
    ],
)
def test_json_is_read_as_far_as_it_goes(text, expected):
    assert told(text) == expected


def test_coverage_counts_the_steps_that_state_a_value():
    chain = parse_chain("Step 1: list\nStep 2: x = 5\nAnswer: 5")
    assert chain.value_coverage == 0.5
    assert chain.parse_status == "markers"
    assert parse_chain("Answer: 5").value_coverage == 0
    assert parse_chain("Answer: 5").parse_status == "answer_only"
    assert parse_chain("<think>5").parse_status == "truncated"


def test_a_very_long_chain_keeps_its_head_and_tail():
    chain = parse_chain("".join(f"Step {n % 900}: x = {n}\n" for n in range(1, 3000)))
    assert len(chain.steps) == MOST_STEPS
    assert chain.steps[0].value == 1
    assert chain.final_answer == 2999


@given(
    st.text(
        alphabet=st.sampled_from('Step Шаг123.:=-+(){}[]"\\$|#*`<think>\n,%Ответ answer'),
        max_size=300,
    )
)
@settings(max_examples=300, deadline=None)
def test_no_text_raises(text):
    chain = parse_chain(text, "ru")
    assert (chain.final_answer is None) == (chain.final_source is None)
    assert len(chain.values) == len(chain.steps)
