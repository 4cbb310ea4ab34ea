"""Reports as data: CSV that no spreadsheet obeys, typed Parquet, JSON by its schema, JUnit XML."""

import csv
import io
import json
from xml.etree import ElementTree as ET

import pytest

from pytest_fineval.cli import main
from pytest_fineval.gate.verdict import Verdict
from pytest_fineval.report import table
from pytest_fineval.report.material import gather
from pytest_fineval.report.view import view
from pytest_fineval.store.manifest import Manifest
from pytest_fineval.store.record import Record
from tests import hostile
from tests.report_world import world


def seen(made):
    return view(gather(made.folder, made.root))


@pytest.fixture(scope="module")
def blocked(tmp_path_factory):
    root = tmp_path_factory.mktemp("world")
    return world(root, ["It is 7, not 100 USD."] * 12 + ["It was 100 USD."] * 28, lost=12)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    texts = [*hostile.ALL, *hostile.FORMULAS]
    return world(tmp_path_factory.mktemp("world"), texts, lost=len(texts))


def test_csv_has_a_typed_row_for_every_record(blocked):
    listed = list(csv.DictReader(io.StringIO(table.to_csv(seen(blocked)), newline="")))
    assert len(listed) == 40
    assert list(listed[0]) == list(table.COLUMNS)
    assert sum(float(row["score"]) for row in listed) == 28
    assert listed[0]["answer"] == "It is 7, not 100 USD."
    assert listed[0]["must_pass"] == "false"


def test_no_csv_cell_is_a_formula_in_a_spreadsheet(attacked):
    for row in csv.reader(io.StringIO(table.to_csv(seen(attacked)), newline="")):
        for cell in row:
            bare = cell.lstrip(" \u00a0\u3000\ufeff\u200b")
            assert bare[:1] not in {*"=+-@\t\r\n＝＋－＠"}
            assert "\x1b" not in cell
            assert "\u202e" not in cell


def test_a_formula_split_off_by_another_separator_stays_inside_its_quotes(attacked):
    text = table.to_csv(seen(attacked))
    assert '"\'=HYPERLINK(""https://evil.example/"",""click"")"' in text


def test_parquet_is_typed_for_duckdb_and_pandas(attacked, tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra `history`")
    duckdb = pytest.importorskip("duckdb", reason="needs the extra `history`")
    path = tmp_path / "run.parquet"
    table.to_parquet(seen(attacked), path)
    made = duckdb.read_parquet(str(path))
    types = {name: str(kind) for name, kind in zip(made.columns, made.types, strict=True)}
    assert types["score"] == "DOUBLE"
    assert types["sample"] == "INTEGER"
    assert types["must_pass"] == "BOOLEAN"
    assert types["started"] == "TIMESTAMP WITH TIME ZONE"
    answers = {row[0] for row in made.select("answer").fetchall()}
    assert answers == {*hostile.ALL, *hostile.FORMULAS}, "data is kept verbatim"


def test_json_holds_manifest_verdict_and_records_by_their_schemas(attacked):
    loaded = json.loads(table.to_json(seen(attacked)))
    verdict = Verdict.model_validate_json(json.dumps(loaded["verdict"]))
    assert verdict.outcome == attacked.verdict.outcome
    assert Manifest.model_validate_json(json.dumps(loaded["manifest"])).candidate == "new"
    texts = [Record.model_validate_json(json.dumps(r)).answer.text for r in loaded["records"]]
    assert texts == [*hostile.ALL, *hostile.FORMULAS]


def test_junit_fails_exactly_where_the_gate_fails(blocked):
    root = ET.fromstring(table.to_junit(seen(blocked)))  # noqa: S314 - written just before
    suites = {suite.get("name"): suite for suite in root}
    assert set(suites) == {"extraction", "reasoning", "fineval-gate"}
    assert suites["extraction"].get("failures") == "0"
    assert int(suites["fineval-gate"].get("failures")) >= 1
    assert sum(len(suite) for name, suite in suites.items() if name != "fineval-gate") == 40
    case = suites["extraction"][0]
    given = {p.get("name"): p.get("value") for p in case.find("properties")}
    assert given["status"] == "wrong"
    assert given["score"] == "0"


def test_junit_of_hostile_answers_is_well_formed(attacked):
    text = table.to_junit(seen(attacked))
    root = ET.fromstring(text)  # noqa: S314 - written just before
    assert "\x1b" not in text
    assert root.find(".//script") is None
    outputs = [one.text for one in root.iterfind(".//testcase/system-out")]
    assert any(hostile.SCRIPT in one for one in outputs)


@pytest.mark.parametrize("suffix", [".json", ".csv", ".xml", ".md", ".parquet"])
def test_the_suffix_chooses_the_format(blocked, monkeypatch, tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="needs the extra `history`")
    monkeypatch.chdir(blocked.root)
    target = tmp_path / f"out{suffix}"
    assert main(["report", str(blocked.folder), "-o", str(target)]) == 0
    assert target.stat().st_size > 500
