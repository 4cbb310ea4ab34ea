"""The HTML report as bytes; what a browser makes of it is tests/e2e/test_report_browser.py."""

import base64
import hashlib
import json
import re

import pytest

from pytest_fineval.cli import main
from pytest_fineval.report import cases
from pytest_fineval.report.html import render
from pytest_fineval.report.material import gather
from pytest_fineval.report.text import clipped, shown
from pytest_fineval.report.view import view
from tests import hostile
from tests.report_world import world


def page(made):
    return render(view(gather(made.folder, made.root)))


def data_of(html):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(found.group(1))


@pytest.fixture(scope="module")
def blocked(tmp_path_factory):
    answers = ["It is 7, not 100 USD."] * 12 + ["It was 100 USD."] * 28
    return world(
        tmp_path_factory.mktemp("world"), answers, lost=12, samples=2, passage="A passage."
    )


def test_the_verdict_stands_before_everything_else(blocked):
    html = page(blocked)
    assert blocked.verdict.outcome == "block"
    assert html.index(">BLOCK<") < html.index("<h2")
    assert "dropped" in html[html.index(">BLOCK<") : html.index("<h2")]


def test_lost_cases_come_first_with_both_answers_and_the_read_value_marked(blocked):
    first = data_of(page(blocked))["cases"][0]
    assert first["change"] == "lost"
    assert first["told_before"]["text"] == ["It was ", "100 USD", "."]
    assert first["told_after"]["text"] == ["It is 7, not ", "100", " USD."]
    assert first["passage"] == "A passage."
    assert dict(first["gold"])["answer"] == "100"
    assert first["where"] == "evals/cases/all.jsonl:1"
    assert len(first["others"]) == 1


def test_the_policy_admits_this_file_alone(blocked):
    html = page(blocked)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html).group(1)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL).group(1)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert not re.search(r'\b(?:src|href)="(?!#)', html)
    assert not re.search(r'\sstyle="', html), "the policy would drop an inline style"


def test_no_model_text_becomes_markup(tmp_path):
    html = page(world(tmp_path, hostile.ALL, lost=len(hostile.ALL), question=hostile.CLOSING))
    assert html.count("<script") == 2
    assert "<img" not in html
    texts = ["".join(case["told_after"]["text"]) for case in data_of(html)["cases"]]
    assert shown(hostile.SCRIPT) in texts


def test_hidden_characters_are_shown_as_what_they_are():
    assert shown("a\u202eb") == "a[U+202E]b"
    assert shown("\x1b[31m") == "␛[31m"
    assert shown("a\u200cb\tc\r\nd") == "a\u200cb\tc\nd"


def test_a_text_is_cut_around_its_value():
    head, value, tail = clipped("x" * 5000 + "42" + "y" * 5000, 300, (5000, 5002))
    assert value == "42"
    assert head == "[4,900 characters left out] " + "x" * 100
    assert tail.startswith("y" * 100)
    assert clipped("short 42", 300, (6, 8)) == ("short ", "42", "")
    assert clipped("a" * 10, 4)[0] == "aaaa [6 characters left out]"


def test_a_large_report_keeps_less_of_each_text_and_says_so(blocked, monkeypatch):
    monkeypatch.setattr(cases, "BUDGET", 3_000)
    made = view(gather(blocked.folder, blocked.root))
    assert made.limit == cases.LIMITS[-1]
    assert "Texts longer than 120 characters are shortened" in render(made)


def test_a_run_without_a_baseline_has_a_report_too(tmp_path):
    made = world(tmp_path, ["It was 100 USD."] * 4)
    (made.root / "baselines" / "main.json").unlink()
    html = page(made)
    assert "shown without the baseline" in html
    assert data_of(html)["compared"] is False


def test_a_case_that_changed_since_is_not_shown_in_its_new_words(tmp_path):
    made = world(tmp_path, ["It was 100 USD."] * 4)
    path = made.root / "evals" / "cases" / "all.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("revenue", "profit"), encoding="utf-8")
    html = page(made)
    assert "profit" not in html
    assert "the text of 4 of 4 cases is not shown" in html


def test_the_command_writes_it_and_names_an_unknown_suffix(blocked, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(blocked.root)
    target = tmp_path / "deep" / "report.html"
    assert main(["report", str(blocked.folder), "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(["report", str(blocked.folder), "-o", "report.htm"]) == 4
    assert 'did you mean ".html"?' in capsys.readouterr().err
