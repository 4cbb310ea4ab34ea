"""Several models on the same cases: differences, corrections, and the winner's luck."""

import json
from dataclasses import replace

import pytest

from pytest_fineval.errors import InputError
from pytest_fineval.gate.compare import Comparison, compare, contestants
from pytest_fineval.report.comparison import lines
from pytest_fineval.settings import ModelSettings
from pytest_fineval.stats.intervals import tango
from pytest_fineval.stats.paired import mcnemar
from pytest_fineval.stats.selection import best_of_k_p_value, expected_best_accuracy
from pytest_fineval.store.manifest import identity
from pytest_fineval.store.run import Run
from tests.shared import shared
from tests.unit.gate_world import planned, record, run


def model(name, **fields):
    return ModelSettings(client="recording", model=name, temperature=0, **fields)


def one_run(name, rows, *, fields=None, **options):
    settings = options.pop("settings", model(name))
    return run(rows, model=settings, name=name, run_id=f"run-{name}", fields=fields, **options)


def compared(*runs, **options):
    models = contestants(runs)
    return compare(models[0], models[1:], **options)


def right(n, wrong=0):
    return {"reasoning": [[0.0]] * wrong + [[1.0]] * (n - wrong)}


def difference(found, name, check="overall"):
    return next(d for d in found.differences if (d.model, d.check) == (name, check))


def test_a_model_is_held_against_the_reference_case_by_case():
    found = compared(one_run("a", right(40, 2)), one_run("b", right(40, 9)))
    one = difference(found, "b", "reasoning")
    assert (one.n, one.reference, one.value) == (40, 0.95, 0.775)
    assert one.lost == tuple(f"reasoning-{k:02}" for k in range(2, 9))
    assert one.gained == ()
    assert one.p == mcnemar(7, 0).midp_two_sided
    assert one.interval95 == pytest.approx((tango(40, 7, 0).low, tango(40, 7, 0).high))
    assert one.test == "mcnemar_midp"


def test_every_difference_that_was_looked_at_is_corrected_for():
    runs = [one_run("a", right(40)), one_run("b", right(40, 7)), one_run("c", right(40, 1))]
    found = compared(*runs)
    assert len(found.differences) == 4
    assert difference(found, "b").p_holm == pytest.approx(4 * difference(found, "b").p)


def test_the_best_of_k_is_told_from_luck():
    found = compared(*(one_run(n, right(40, w)) for n, w in (("a", 8), ("b", 9), ("c", 4))))
    (one,) = found.selection
    assert (one.k, one.best, one.right, one.pbo) == (2, "c", 36, None)
    assert one.p_best == best_of_k_p_value(36, 2, 40, 0.8)
    assert one.expected_best == expected_best_accuracy(2, 40, 0.8)


def test_four_models_get_a_probability_of_overfitting():
    clear = compared(
        *(one_run(n, right(40, w)) for n, w in zip("abcd", (20, 20, 20, 0), strict=True))
    )
    assert clear.selection[0].pbo == 0.0


def test_a_matrix_of_one_run_gives_the_figures_of_separate_runs():
    first, second = one_run("a", right(40, 2)), one_run("b", right(40, 9))
    models = {**first.manifest.models, **second.manifest.models}
    manifest = first.manifest.model_copy(update={"models": models})
    matrix = Run(first.folder, manifest, (*first.records, *second.records))
    assert compared(matrix) == compared(first, second)


def test_several_samples_of_one_model_are_shuffled_and_of_two_models_sign_flipped():
    rows = {"reasoning": [[1.0, 0.0, 1.0]] * 20}
    worse = {"reasoning": [[0.0, 0.0, 1.0]] * 20}
    first = one_run("a", rows)
    same = compared(
        first, one_run("b", worse, settings=model("a", system="be brief")), allow=["system"]
    )
    assert difference(same, "b").test == "within_case_permutation"
    assert same.allowed == ("system differs: b",)
    assert difference(compared(first, one_run("b", worse)), "b").test == "signflip"


def test_cases_of_one_filing_count_as_one():
    fields = {f"reasoning-{k:02}": {"cluster": f"filing-{k // 4}"} for k in range(40)}
    found = compared(
        one_run("a", right(40), fields=fields), one_run("b", right(40, 8), fields=fields)
    )
    one = difference(found, "b")
    assert one.test == "signflip_clusters"
    assert one.p == pytest.approx(2 * 0.5**2)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("decoding", {"temperature": 1.0}),
        ("budget", {"max_tokens": 9}),
        ("system", {"system": "be brief"}),
    ],
)
def test_what_would_be_taken_for_the_models_has_to_be_allowed(name, changed):
    other = model("b").model_copy(update=changed)
    runs = one_run("a", right(9)), one_run("b", right(9), settings=other)
    with pytest.raises(InputError, match=f"in its {name}.*--allow {name}"):
        compared(*runs)
    assert compared(*runs, allow=[name]).allowed == (f"{name} differs: b",)


def test_another_split_another_scorer_and_other_cases_have_to_be_allowed():
    first = one_run("a", right(9))
    with pytest.raises(InputError, match="split"):
        compared(first, one_run("b", right(9), split="dev"))
    scorer = {"reasoning-00": {"scorer": "numeric@2"}}
    with pytest.raises(InputError, match="scorer"):
        compared(first, one_run("b", right(9), fields=scorer))
    fewer = one_run("b", right(8))
    with pytest.raises(InputError, match="data"):
        compared(first, fewer)
    found = compared(first, fewer, allow=["data", "evidence", "scorer"])
    assert difference(found, "b").n == 8


def test_an_unknown_field_is_refused_by_name():
    with pytest.raises(InputError, match='"weather" is no field'):
        compared(one_run("a", right(9)), one_run("b", right(9)), allow=["weather"])


def test_a_run_with_a_lost_record_is_not_compared():
    broken = one_run("b", right(9))
    broken = replace(broken, records=broken.records[1:])
    with pytest.raises(InputError, match="not a whole run"):
        compared(one_run("a", right(9)), broken)


def test_tracks_are_never_pooled():
    fields = {f"reasoning-{k:02}": {"track": "finqa"} for k in range(5)}
    found = compared(one_run("a", right(9), fields=fields), one_run("b", right(9), fields=fields))
    assert [s.check for s in found.selection] == ["overall[finqa]", "overall[own]"]


def test_the_table_names_the_flipped_cases():
    text = "\n".join(lines(compared(one_run("a", right(40, 2)), one_run("b", right(40, 9)))))
    assert "lost with b: reasoning-02" in text
    assert "17.5" in text
    assert "best of 1 by overall: b with 31 right" in text


def test_real_models_agree_with_their_published_counts():
    items = [
        json.loads(line)
        for line in shared("data/indiafinbench/model_item_correct.jsonl").read_text().splitlines()
    ]
    names = sorted(items[0]["correct"])[:5]

    def measured(name):
        cases = [planned(item["id"], "reasoning") for item in items]
        records = [
            record(case, float(item["correct"][name]), model=name)
            for case, item in zip(cases, items, strict=True)
        ]
        made = one_run(name, right(1))
        manifest = made.manifest.model_copy(
            update={"planned": tuple(cases), "models": {name: identity(model(name))}}
        )
        return Run(made.folder, manifest, tuple(records))

    found = compared(*map(measured, names))
    counts = {}
    for line in shared("reference/indiafinbench_paired_counts.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["category"] == "ALL":
            p = row["mcnemar_exact_two_sided_p"]
            counts[row["a"], row["b"]] = (row["a_only"], row["b_only"], p)
            counts[row["b"], row["a"]] = (row["b_only"], row["a_only"], p)
    known = [name for name in names[1:] if (names[0], name) in counts]
    assert known
    for name in known:
        one = difference(found, name)
        lost, gained, p = counts[names[0], name]
        assert (len(one.lost), len(one.gained)) == (lost, gained)
        assert one.p_exact == pytest.approx(p, rel=1e-9)
    assert found.selection[0].pbo is not None
    assert Comparison.model_validate_json(found.model_dump_json()) == found
