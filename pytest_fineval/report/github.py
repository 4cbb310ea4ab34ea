"""What GitHub shows of a run: job summary, annotations, and one comment on the pull request.

Text of models and cases enters Markdown in two forms only: in a fence or a code span that is longer
than any run of backticks in it, where GitHub reads no markup, no mention and no link; or with every
punctuation character escaped. In workflow commands it is one clean line with the command's own
escapes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_fineval.errors import InputError, MeasurementError
from pytest_fineval.gate.verdict import Verdict
from pytest_fineval.report.cases import AnswerView, CaseView
from pytest_fineval.report.summary import NEXT, check_cells, points
from pytest_fineval.report.text import shown, visible
from pytest_fineval.report.view import View

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 900_000
"""GitHub drops a job summary above 1 MiB whole."""

MOST_IN_COMMENT = 60_000
"""GitHub refuses a comment of more than 65,536 characters."""

MOST_SHOWN = {"summary": 50, "comment": 10}
MOST_ANNOTATED = 10
"""GitHub shows ten annotations of a level and step; the rest would vanish unsaid."""

MOST_OF_AN_ANSWER = 1_500

MARKER = "<!-- pytest-fineval: the gate's comment, updated by each run -->"

SIGN = {"pass": "✅", "inconclusive": "⚠️", "not_judged": "⚠️", "block": "⛔", "invalid": "⛔"}

HEAD = (
    "check", "n", "att/sub/scored", "baseline", "candidate", "drop", "allowed", "lost/gained", "p",
    "Holm p", "verdict",
)  # fmt: skip

Level = Literal["error", "warning", "notice"]


def markdown(view: View, *, most_cases: int | None = None, most_bytes: int = MOST_BYTES) -> str:
    """The run as Markdown: verdict first, then checks, then the cases that flipped, lost first.

    Args:
        most_cases: how many cases with their answers; default 50.
        most_bytes: of the result in UTF-8. Whole cases are left out, and counted, to stay below.
    """
    verdict = view.summary.verdict
    word = verdict.outcome.replace("_", " ").upper()
    parts = [
        f"## {SIGN[verdict.outcome]} fineval: {word}\n",
        f"{escaped(_cause(verdict))}\n",
        f"Model {code(view.summary.model)}, {view.summary.split} split: {_counts(view)}.\n",
    ]
    if verdict.outcome in NEXT:
        parts.append(f"**Next:** {escaped(NEXT[verdict.outcome])}\n")
    parts.append(_checks(view))
    if view.summary.notes:
        parts.append("".join(f"- {escaped(note[:2000])}\n" for note in view.summary.notes[:50]))
    flipped = [case for case in view.cases if case.change in {"lost", "gained"}]
    used = sum(len(part.encode()) + 1 for part in parts)
    listed = 0
    for case in flipped[: MOST_SHOWN["summary"] if most_cases is None else most_cases]:
        text = _case(case)
        used += len(text.encode()) + 1
        if used > most_bytes - 500:
            break
        parts.append(text)
        listed += 1
    if listed < len(flipped):
        parts.append(f"… and {len(flipped) - listed} more flipped cases in the HTML report.\n")
    return "\n".join(parts)


def comment(view: View) -> str:
    """The Markdown for the pull request's one comment, short enough for GitHub to take it."""
    text = markdown(view, most_cases=MOST_SHOWN["comment"], most_bytes=MOST_IN_COMMENT)
    return f"{MARKER}\n{text}"


@dataclass(frozen=True)
class Annotation:
    """A message at a line of a file of the repository."""

    level: Level
    title: str
    message: str
    file: str | None = None
    line: int | None = None

    def command(self) -> str:
        """The workflow command that makes it, on one line."""
        fields = {"file": self.file, "line": self.line, "title": self.title}
        given = ",".join(f"{k}={_property(str(v))}" for k, v in fields.items() if v is not None)
        return f"::{self.level} {given}::{_data(self.message)}"


def annotate(view: View, root: Path, workspace: Path | None = None) -> list[Annotation]:
    """The gate at its baseline, and lost cases at the lines of their files, ten at most.

    Args:
        root: the project's folder, to which the view's paths are relative.
        workspace: the repository's folder; paths of annotations are relative to it.
    """
    verdict = view.summary.verdict
    levels: Mapping[str, Level] = {"pass": "notice", "inconclusive": "warning"}
    baseline = dict(view.identity)["Baseline"].split(" ")[0]
    found = [
        Annotation(
            levels.get(verdict.outcome, "error" if verdict.exit_code else "warning"),
            f"fineval: {verdict.outcome.replace('_', ' ').upper()}",
            _line(_cause(verdict), 2000),
            None if baseline == "none" else _from(workspace, root, baseline),
            None if baseline == "none" else 1,
        )
    ]
    for case in view.cases:
        if case.change != "lost" or len(found) > MOST_ANNOTATED:
            continue
        path, _, line = case.where.rpartition(":")
        before = "".join(case.told_before.text) if case.told_before else ""
        was = f"before {visible(before)}, " if before else ""
        now = f"now {visible(''.join(case.told_after.text))}"
        why = f" ({case.failure})" if case.failure else ""
        found.append(
            Annotation(
                "warning",
                f"lost: {case.id}",
                f"{_line(case.question, 200)} {was}{now}{why}",
                _from(workspace, root, path) if path else None,
                int(line) if path else None,
            )
        )
    return found


def publish(view: View, root: Path, environment: Mapping[str, str]) -> list[str]:
    """Append to the job summary that the environment names.

    Returns:
        The annotations as workflow commands, to be printed a line each.

    Raises:
        InputError: not in a GitHub job, or its summary cannot be written.
    """
    target = environment.get("GITHUB_STEP_SUMMARY")
    if not target:
        raise InputError("GITHUB_STEP_SUMMARY is not set: --github works in a GitHub job")
    try:
        with Path(target).open("a", encoding="utf-8", newline="\n") as summary:
            summary.write(markdown(view) + "\n")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", path=target) from error
    workspace = environment.get("GITHUB_WORKSPACE")
    made = annotate(view, root, Path(workspace) if workspace else None)
    return [annotation.command() for annotation in made]


def post_comment(text: str, pull_request: int, environment: Mapping[str, str]) -> str:
    """Write the pull request's one comment: update ours if it is there, else make it.

    Args:
        text: of `comment`.
        environment: GITHUB_TOKEN, GITHUB_REPOSITORY and, elsewhere than github.com, GITHUB_API_URL.

    Returns:
        What became of it, in words. A token that may not write (a fork's) is no error: the job
        summary says the same.

    Raises:
        InputError: the environment lacks something. MeasurementError: GitHub could not be asked.
    """
    import httpx2

    token = environment.get("GITHUB_TOKEN")
    repository = environment.get("GITHUB_REPOSITORY", "")
    if not token or not re.fullmatch(r"[\w.-]{1,100}/[\w.-]{1,100}", repository):
        raise InputError("a comment needs GITHUB_TOKEN and GITHUB_REPOSITORY (owner/name)")
    base = environment.get("GITHUB_API_URL", "https://api.github.com")
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    comments = f"/repos/{repository}/issues/{pull_request}/comments"
    try:
        with httpx2.Client(base_url=base, headers=headers, timeout=30) as http:
            ours = _our_comment(http, comments)
            if ours is None:
                answer = http.post(comments, json={"body": text})
            else:
                url = f"/repos/{repository}/issues/comments/{ours}"
                answer = http.patch(url, json={"body": text})
    except httpx2.HTTPError as error:
        raise MeasurementError(f"GitHub could not be asked for a comment: {error}") from error
    if answer.status_code in {401, 403, 404}:
        return "no comment: this job's token may not write one (as in a pull request from a fork)"
    if answer.status_code >= 300:
        raise MeasurementError(f"GitHub refused the comment with status {answer.status_code}")
    return "comment made" if ours is None else "comment updated"


def _our_comment(http: httpx2.Client, comments: str) -> int | None:
    for page in range(1, 31):
        answer = http.get(comments, params={"per_page": 100, "page": page})
        if answer.status_code != 200:
            return None
        listed: list[dict[str, Any]] = answer.json()
        for one in listed:
            # Anybody can write our marker; only what a bot wrote is ours to change.
            by_bot = (one.get("user") or {}).get("type") == "Bot"
            if by_bot and str(one.get("body") or "").startswith(MARKER):
                return int(one["id"])
        if len(listed) < 100:
            return None
    return None


def code(text: str, *, cell: bool = False) -> str:
    """Foreign text as one code span; `cell`: inside a table, which ends cells within code too."""
    line = " ".join(shown(text).split())
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line[:1] == "`" or line[-1:] == "`" else ""
    span = f"{fence}{pad}{line}{pad}{fence}" if line else "–"
    return span.replace("|", "\\|") if cell else span


def fenced(text: str) -> str:
    """Foreign text as a fenced block that it cannot leave."""
    clean = shown(text)
    fence = "`" * max(4, _longest_run(clean) + 1)
    return f"{fence}text\n{clean}\n{fence}"


def escaped(text: str) -> str:
    """Foreign words in a sentence: no markup, no mention, no reference, no link."""
    line = " ".join(shown(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"([\\`*_{}\[\]()#+!|~$^-])", r"\\\1", line)
    # GitHub looks for mentions, references and addresses after Markdown is done with escapes.
    return re.sub(r"(@|#(?=\d)|:(?=//)|\b[Ww]{3}(?=\.)|\b[Gg][Hh](?=\\-))", "\\1\u200b", line)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _checks(view: View) -> str:
    if not view.summary.checks:
        rows = [
            [
                code(c.name, cell=True),
                str(c.n),
                f"{c.attempted}/{c.submitted}/{c.scored}",
                f"{c.mean:.3f}",
            ]
            for c in view.summary.categories
        ]
        return _table(("category", "n", "att/sub/scored", "score"), rows)
    rows = []
    for check in view.summary.checks:
        name, *cells, word = check_cells(check)
        plain = [cell.replace("<", "&lt;").replace(">", "&gt;") for cell in cells]
        rows.append([code(name, cell=True), *plain, f"{SIGN[check.outcome]} {word}"])
    notes = "".join(
        f"- {code(check.name)}: {escaped(check.note)}\n"
        for check in view.summary.checks
        if check.note
    )
    return _table(HEAD, rows) + (f"\n{notes}" if notes else "") + _intervals(view)


def _intervals(view: View) -> str:
    lines = [
        f"- {code(one.name)}: drop {points(one.drop)} pts, 95 % interval {points(one.low)} to "
        f"{points(one.high)}, allowed {points(one.limit)}\n"
        for one in view.differences
    ]
    if not lines:
        return ""
    return f"\n<details><summary>Intervals</summary>\n\n{''.join(lines)}\n</details>\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [
        "| " + " | ".join(head) + " |",
        "|---|" + "---:|" * (len(head) - 2) + "---|",
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def _case(case: CaseView) -> str:
    scores = f"{case.after:.3f}" if case.before is None else f"{case.before:.3f} → {case.after:.3f}"
    parts = [f"### {case.change.upper()} {code(case.id)} ({code(case.category)}, {scores})\n"]
    if case.where:
        parts.append(f"at {code(case.where)}\n")
    if case.question:
        parts.append(fenced(case.question[:MOST_OF_AN_ANSWER]) + "\n")
    gold = ", ".join(f"{name} {value}" for name, value in case.gold)
    parts.append(f"Gold: {code(gold[:300])}\n")
    if case.told_before is not None:
        parts.append(f"Before ({_reading(case.told_before)}):\n\n{_answer(case.told_before)}\n")
    parts.append(f"Now ({_reading(case.told_after)}):\n\n{_answer(case.told_after)}\n")
    return "\n".join(parts)


def _reading(one: AnswerView) -> str:
    said = [f"score {one.score:.3g}"]
    if one.read:
        said.append(f"read {code(one.read[:200])}")
    if one.failure:
        said.append(code(one.failure))
    return ", ".join(said)


def _answer(one: AnswerView) -> str:
    text = one.error or "".join(one.text)
    if len(text) > MOST_OF_AN_ANSWER:
        text = f"{text[:MOST_OF_AN_ANSWER]} [{len(text) - MOST_OF_AN_ANSWER:,} characters left out]"
    return fenced(text or "(empty answer)")


def _counts(view: View) -> str:
    counted = [f"{n} {status.replace('_', ' ')}" for status, n in view.summary.statuses.items()]
    flips = view.summary.verdict.flips
    lost = sum(flip.kind == "lost" for flip in flips)
    return ", ".join([*counted, f"**{lost} lost**, {len(flips) - lost} gained"])


def _cause(verdict: Verdict) -> str:
    return verdict.cause.removeprefix(f"{verdict.outcome.replace('_', ' ')}: ")


def _line(text: str, width: int) -> str:
    """One clean line; quoted by `visible`, the quotes taken off again."""
    return visible(text, width)[1:-1]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _from(workspace: Path | None, root: Path, path: str) -> str:
    if workspace is None:
        return path
    full = Path(os.path.normpath(root / path))
    return full.relative_to(workspace).as_posix() if full.is_relative_to(workspace) else path
