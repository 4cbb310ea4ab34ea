"""A gold that no answer could match is refused at collection, by file and line."""

import json

import pytest

from tests.project import many, number_case


def case(identity, gold, **scorer):
    return number_case(identity, 1, gold=gold, scorer=scorer)


NUMBERS = {
    "no number": case("a", {"answer": "plenty", "unit": "USD"}, name="numeric"),
    "other currency": case("b", {"answer": "€5", "unit": "USD"}, name="numeric"),
    "half a count": case("c", {"answer": 2.5, "unit": "count"}, name="numeric"),
    "no year": case("d", {"answer": 20, "unit": "year"}, name="numeric"),
    "no rank": case("e", {"answer": 0, "unit": "rank"}, name="numeric"),
    "no such currency": case("f", {"answer": 5, "unit": "USX/share"}, name="numeric"),
    "no tolerance": case("p", {"answer": 5, "unit": "USD"}, name="numeric", rel_tol=-1),
}
OTHERS = {
    "no label": case("g", {"answer": "up", "labels": ["rise", "fall"]}, name="label"),
    "neither yes nor no": case("h", {"answer": "maybe"}, name="boolean"),
    "no such day": case("i", {"answer": "2024-02-30"}, name="date"),
    "a month for a day": case("j", {"answer": "2024-02"}, name="date"),
    "one item": case("k", {"answer": ["A"]}, name="ranking"),
    "an item of many": case("l", {"answer": {"x": "many"}, "unit": "USD"}, name="multi"),
    "no text": case("m", {"answer": 5}, name="exact"),
    "no reference": case("n", {"answer": " "}, name="summary"),
    "no program": case("o", {"answer": 0.5}, name="finqa/official"),
}


@pytest.mark.parametrize("bad", [NUMBERS, OTHERS], ids=["numbers", "others"])
def test_every_bad_gold_is_named_by_file_line_and_field(project, bad):
    project.suite("numbers", many(1))
    project.answers("new", project.right())
    project.settings()
    path = project.root / "evals" / "cases" / "numbers.jsonl"
    path.write_text("\n".join(map(json.dumps, bad.values())) + "\n", encoding="utf-8")
    done = project.pytest("--fineval-baseline", "none")
    assert done.ret == 4
    shown = done.stderr.str()
    for number, (fault, spoilt) in enumerate(bad.items(), 1):
        [line] = [text for text in shown.splitlines() if f"numbers.jsonl:{number}:" in text]
        assert f'case "{spoilt["id"]}"' in line, fault
        assert '"gold.' in line or "rel_tol" in line, fault
    assert "0 passed" not in shown
