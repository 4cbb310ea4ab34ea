"""Pre-registration: each deviation of a run from its plan stands in the verdict."""

import pytest

from pytest_fineval.cases import files
from pytest_fineval.cases.model import Case
from pytest_fineval.cli import main
from pytest_fineval.errors import InputError
from pytest_fineval.gate import plan as plans
from pytest_fineval.gate.policy import draft
from pytest_fineval.gate.verdict import judge
from pytest_fineval.settings import ModelSettings
from pytest_fineval.store.manifest import identity
from tests.unit.gate_world import NEW, NOW, OLD, baseline, ones, run, settings

ONE = ("extraction",)


def case(name, **fields):
    return Case.model_validate(
        {
            "id": name,
            "category": "extraction",
            "candidate": {"question": f"What is {name}?"},
            "gold": {"answer": "1"},
            "scorer": {"name": "exact"},
            **fields,
        }
    )


def registered(cases, **options):
    values = {
        "hypothesis": "it gets better",
        "models": {"new": identity(NEW)},
        "candidate": "new",
        "split": "full",
        "gate": "full",
        "samples": 1,
        "policy": draft(settings(ONE)),
        "created_by": "ann",
        "now": NOW,
        **options,
    }
    return plans.register(cases, **values)


CASES = [case(f"extraction-{n:02}") for n in range(10)]
FIELDS = {c.id: {"digest": c.digest} for c in CASES}


def verdict(plan, scores=None, fields=FIELDS, **manifest):
    before = baseline(run(ones(10, ONE), fields=FIELDS), categories=ONE)
    now = run(
        scores or ones(10, ONE),
        model=manifest.pop("model", NEW),
        run_id="now",
        fields=fields,
        plan=plans.as_json(plan),
        **manifest,
    )
    return judge(now.manifest, now.records, (), before, now.manifest.gate)


def test_a_run_as_planned_says_so():
    plan = registered(CASES)
    assert plan.n == {"extraction": 10}
    found = verdict(plan)
    assert found.notes[0] == f"plan {plan.digest[:12]} (it gets better): followed"
    assert found.outcome == "pass"


def test_without_a_plan_nothing_is_said():
    now = run(ones(10, ONE))
    assert plans.notes(now.manifest, None) == []


@pytest.mark.parametrize(
    ("change", "clause"),
    [
        ({"split": "dev"}, "split: planned full, ran dev"),
        ({"model": OLD}, "model new differs in model"),
        ({"scores": {"extraction": [[1.0, 1.0]] * 10}}, "samples a case: planned 1, ran 2"),
        ({"scores": ones(9, ONE)}, "1 cases not asked: extraction-09"),
        ({"scores": ones(11, ONE)}, "1 cases not planned: extraction-10"),
        ({"fields": {**FIELDS, "extraction-03": {"digest": "0" * 64}}}, "changed since"),
        ({"gate": "off"}, "gate: planned full, ran off"),
    ],
)
def test_each_deviation_is_in_the_verdict(change, clause):
    notes = verdict(registered(CASES), **change).notes
    assert any(n.startswith("deviates from plan") and clause in n for n in notes), notes


def test_other_thresholds_than_planned_are_a_deviation():
    plan = registered(CASES, policy=draft(settings(ONE, max_drop={"extraction": 0.01})))
    assert any(
        "max_drop.extraction: signed 0.03, planned 0.01" in note for note in verdict(plan).notes
    )


def test_another_model_beside_the_planned_one_is_a_deviation():
    models = {"new": identity(NEW), "third": identity(ModelSettings(model="third"))}
    plan = registered(CASES, models=models)
    assert any("model third was not asked" in note for note in verdict(plan).notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"hypothesis": " "}, "needs a hypothesis"), ({"split": "heldout"}, "takes none")],
)
def test_an_empty_plan_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        registered(CASES, **options)


def test_the_command_writes_a_plan_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.fineval]\ncandidate = "new"\n[tool.fineval.models.new]\nmodel = "new-1"\n'
    )
    files.write(tmp_path / "evals" / "cases" / "a.jsonl", CASES)
    main(["lock", "add", "evals/cases"])
    command = ["plan", "--hypothesis", "h", "-o", "plans/a.json", "--by", "ann"]
    assert main(command) == 0
    plan = plans.read(tmp_path / "plans" / "a.json")
    assert plan.cases == {c.id: c.digest for c in CASES}
    assert plan.candidate == "new"
    assert main(command) == 4
    assert "a plan is not rewritten" in capsys.readouterr().err


def test_a_plan_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "plan.json"
    with pytest.raises(InputError, match="fineval plan --hypothesis"):
        plans.read(path)
    path.write_text("{}")
    with pytest.raises(InputError, match="missing key"):
        plans.read(path)
