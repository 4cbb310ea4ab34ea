"""What is shown of a long run, and that nothing is where nobody looks."""

import pytest

from pytest_fineval.clients.base import Answer
from pytest_fineval.report.progress import Display, Progress, style
from pytest_fineval.store.record import PlannedCase, Record, StoredScore
from tests.project import many


def record(n, category="extraction", status="correct", cost=0.01, text="hello"):
    case = PlannedCase(
        id=f"c{n}", digest="d", category=category, cluster="c", suite="s", scorer="numeric@1"
    )
    score = StoredScore(value=float(status == "correct"), scorer="numeric@1")
    answer = Answer(text=text, cost_usd=cost)
    return Record(case=case, model="m", sample=0, status=status, answer=answer, score=score)


class Screen:
    """A terminal reporter that keeps what it is told to write."""

    def __init__(self):
        self.text = ""

    def write(self, content, **_how):
        self.text += content

    def write_line(self, line):
        self.text += line + "\n"

    def ensure_newline(self):
        self.text += "\n"


def test_the_line_tells_count_accuracy_cost_rate_errors_and_time_left():
    progress = Progress(total=40, now=0.0)
    for n in range(8):
        progress.add(record(n), now=n / 2)
    progress.add(record(8, "ranking", "wrong"), now=5.0)
    progress.add(record(9, "ranking", "errored"), now=5.0)
    assert progress.line(5.0) == (
        "fineval 10/40  extraction 1.00  ranking 0.00  $0.1000  2.0/s  1 error  15 s left"
    )


def test_what_was_measured_before_a_run_was_resumed_says_nothing_of_its_speed():
    progress = Progress(total=100, now=0.0)
    for n in range(90):
        progress.add(record(n), now=0.1, asked=False)
    progress.add(record(91), now=1.0)
    assert "91/100" in progress.line(1.0)
    assert "1.0/s" in progress.line(1.0)


def test_model_text_never_enters_the_line():
    progress = Progress(total=2, now=0.0)
    progress.add(record(0, text="::error::\x1b[2J owned"), now=0.5)
    assert "owned" not in progress.line(1.0)


@pytest.mark.parametrize(
    ("terminal", "verbosity", "environment", "how"),
    [
        (True, 0, {}, "live"),
        (True, -1, {}, "live"),
        (True, 0, {"CI": "true"}, "log"),
        (True, 0, {"TERM": "dumb"}, "log"),
        (False, 0, {}, "log"),
        (False, -1, {}, "none"),
    ],
)
def test_how_it_is_shown(terminal, verbosity, environment, how):
    assert (
        style(terminal=terminal, verbosity=verbosity, capture="fd", environment=environment) == how
    )


def test_a_log_gets_a_line_every_thirty_seconds():
    screen = Screen()
    progress = Progress(total=200, now=0.0)
    display = Display(progress, screen, "log", 0.0)
    for second in range(100):
        progress.add(record(second), now=second)
        display.clear()
        display.show(second)
    assert screen.text.count("fineval ") == 3
    assert "\x1b" not in screen.text


def test_the_live_line_is_taken_away_before_pytest_writes():
    screen = Screen()
    progress = Progress(total=2, now=0.0)
    display = Display(progress, screen, "live", 0.0)
    display.show(1.0)
    assert "fineval 0/2" in screen.text
    display.clear()
    assert screen.text.endswith("\x1b[J")


def test_a_short_run_shows_none(project):
    project.suite("extraction", many(3))
    project.answers("new", project.right())
    project.settings()
    done = project.pytest("--fineval-baseline", "none")
    assert "fineval 3/3" not in done.stdout.str()
