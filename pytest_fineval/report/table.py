"""A run as data: JSON, CSV and Parquet with one row a record, and JUnit XML."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET  # only written here, never parsed

from pytest_fineval.errors import InputError
from pytest_fineval.report.summary import rows
from pytest_fineval.report.text import shown
from pytest_fineval.report.view import View
from pytest_fineval.store.record import Record

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
"""Version of the columns and of the JSON report; a new column does not change it."""

COLUMNS: dict[str, str] = {
    "run_id": "string", "started": "timestamp", "case": "string", "digest": "string",
    "category": "string", "cluster": "string", "track": "string", "evidence": "string",
    "suite": "string", "must_pass": "bool", "model": "string", "sample": "int32",
    "status": "string", "score": "double", "failure": "string", "scorer": "string",
    "parsed": "string", "stage": "string", "span_start": "int32", "span_end": "int32",
    "parts": "string", "answer": "string", "answer_status": "string", "error": "string",
    "finish_reason": "string", "source": "string", "attempts": "int32", "input_tokens": "int64",
    "output_tokens": "int64", "cost_usd": "double", "latency_s": "double",
    "model_returned": "string", "fingerprint": "string", "note": "string",
}  # fmt: skip
"""Columns of CSV and Parquet with their types. Text is verbatim but for what a format cannot hold;
`parsed` and `parts` are JSON."""

FORMULA = frozenset("=+-@\t\r\n＝＋－＠|%")
"""What a spreadsheet may take for the start of a formula."""


def to_json(view: View) -> str:
    """The verdict, the manifest, the figures beside them and every record, as strict JSON."""
    material = view.material
    content = {
        "format": FORMAT,
        "verdict": material.verdict.model_dump(mode="json"),
        "manifest": material.run.manifest.model_dump(mode="json"),
        "intervals": [
            {"check": d.name, "drop": d.drop, "low": d.low, "high": d.high, "method": d.method}
            for d in view.differences
        ],
        "records": [record.model_dump(mode="json") for record in material.run.records],
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def to_csv(view: View) -> str:
    """One row a record, all models; safe to open in a spreadsheet.

    A text that a spreadsheet could take for a formula starts with an apostrophe, every text is
    quoted, and control characters are shown as their pictures. Numbers stay numbers.
    """
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in _rows(view):
        writer.writerow([_cell(row[name]) for name in COLUMNS])
    return out.getvalue()


def to_parquet(view: View, path: Path) -> None:
    """One row a record with typed columns, for duckdb and pandas.

    Raises:
        InputError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise InputError(
            'Parquet needs pyarrow: pip install "pytest-fineval[history]"', path=path
        ) from error
    schema = _schema(pa, view)
    started = datetime.fromisoformat(view.material.run.manifest.started)
    listed = [{**row, "started": started} for row in _rows(view)]
    table = pa.Table.from_pylist(listed, schema=schema)
    temporary = path.with_name(f".{path.name}.part")
    pq.write_table(table, temporary, compression="zstd")
    temporary.replace(path)


def to_junit(view: View) -> str:
    """JUnit XML: a suite a category with a test case a record, and the suite of the gate's rows.

    A wrong answer is a measurement: it passes with its score as a property. What fails is what
    fails the run: gate rows, and records that were never measured are errors.
    """
    root = ET.Element("testsuites", name="fineval")
    run = view.material.run
    groups: dict[str, list[Record]] = {}
    for record in run.records:
        groups.setdefault(record.case.category, []).append(record)
    for category, records in groups.items():
        suite = ET.SubElement(root, "testsuite", name=_xml(category))
        for record in records:
            _junit_record(suite, record)
        _counts(suite, run.manifest.started)
    gate = ET.SubElement(root, "testsuite", name="fineval-gate")
    for row in rows(view.material.verdict):
        case = ET.SubElement(gate, "testcase", classname="fineval-gate", name=_xml(row.name))
        if row.fails:
            failure = ET.SubElement(case, "failure", type=row.outcome, message=_xml(row.outcome))
            failure.text = _xml(row.text)
        else:
            ET.SubElement(case, "system-out").text = _xml(row.text)
    _counts(gate, run.manifest.started)
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _junit_record(suite: ET.Element, record: Record) -> None:
    answer = record.answer
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_xml(record.case.suite.partition("::")[0].removesuffix(".py").replace("/", ".")),
        name=_xml(f"{record.case.id}[{record.model}-{record.sample}]"),
        time=f"{answer.latency_s if answer else 0.0:.3f}",
    )
    given = {
        "score": f"{record.value:.6g}",
        "status": record.status,
        "failure": record.score.failure if record.score else None,
        "read": None if record.score is None else _text(record.score.parsed),
        "cost_usd": None if answer is None or answer.cost_usd is None else f"{answer.cost_usd:g}",
    }
    properties = ET.SubElement(case, "properties")
    for name, value in given.items():
        if value is not None:
            ET.SubElement(properties, "property", name=name, value=_xml(value))
    if record.status in {"errored", "not_run", "unchecked"}:
        why = answer.error.message if answer and answer.error else record.note or record.status
        ET.SubElement(case, "error", type=record.status, message=_xml(why))
    elif answer is not None:
        ET.SubElement(case, "system-out").text = _xml(answer.text)


def _counts(suite: ET.Element, started: str) -> None:
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    suite.set("skipped", "0")
    suite.set("time", f"{sum(float(case.get('time', 0)) for case in suite):.3f}")
    suite.set("timestamp", started)


def _rows(view: View) -> Iterator[dict[str, Any]]:
    manifest = view.material.run.manifest
    for record in view.material.run.records:
        case, answer, score = record.case, record.answer, record.score
        usage = answer.usage if answer else None
        start, end = (score.span if score else None) or (None, None)
        yield {
            "run_id": manifest.run_id,
            "started": manifest.started,
            "case": case.id,
            "digest": case.digest,
            "category": case.category,
            "cluster": case.cluster,
            "track": case.track,
            "evidence": case.evidence,
            "suite": case.suite,
            "must_pass": case.must_pass,
            "model": record.model,
            "sample": record.sample,
            "status": record.status,
            "score": float(record.value),
            "failure": score.failure if score else None,
            "scorer": score.scorer if score else case.scorer,
            "parsed": None if score is None else _text(score.parsed),
            "stage": score.stage if score else None,
            "span_start": start,
            "span_end": end,
            "parts": json.dumps(score.parts) if score and score.parts else None,
            "answer": answer.text if answer else None,
            "answer_status": answer.status if answer else None,
            "error": answer.error.kind if answer and answer.error else None,
            "finish_reason": answer.finish_reason if answer else None,
            "source": answer.source if answer else None,
            "attempts": answer.attempts if answer else None,
            "input_tokens": usage.input_tokens if usage else None,
            "output_tokens": usage.output_tokens if usage else None,
            "cost_usd": answer.cost_usd if answer else None,
            "latency_s": answer.latency_s if answer else None,
            "model_returned": answer.model_returned if answer else None,
            "fingerprint": answer.fingerprint if answer else None,
            "note": record.note,
        }


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    text = shown(value)
    # A sheet may skip blanks, and characters that it does not show, before it looks.
    first = value.lstrip(" \u00a0\u3000\ufeff\u200b")[:1]
    return f"'{text}" if first in FORMULA or value[:1] in FORMULA else text


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, allow_nan=False)


def _schema(pa: Any, view: View) -> pa.Schema:
    kinds = {"timestamp": pa.timestamp("s", tz="UTC"), "bool": pa.bool_(), "double": pa.float64()}
    fields = [
        pa.field(name, kinds.get(kind) or getattr(pa, kind)()) for name, kind in COLUMNS.items()
    ]
    manifest = view.material.run.manifest.model_dump_json(exclude={"planned"})
    about = {
        "fineval.format": str(FORMAT),
        "fineval.manifest": manifest,
        "fineval.verdict": view.material.verdict.to_bytes().decode(),
    }
    return pa.schema(fields, metadata=about)


NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml(text: str) -> str:
    """Text without what XML cannot hold and a terminal would obey."""
    return NOT_XML.sub("\ufffd", shown(text))
