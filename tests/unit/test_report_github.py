"""Job summary, annotations and the pull request's comment: short enough, and nobody's markup."""

import json
import re

import pytest

from pytest_fineval.cli import main
from pytest_fineval.report import github
from pytest_fineval.report.material import gather
from pytest_fineval.report.view import view
from tests import hostile
from tests.forge import serve
from tests.http_server import Reply, json_reply
from tests.report_world import world


def seen(made):
    return view(gather(made.folder, made.root))


@pytest.fixture(scope="module")
def blocked(tmp_path_factory):
    root = tmp_path_factory.mktemp("world")
    return world(root, ["It is 7, not 100 USD."] * 14 + ["It was 100 USD."] * 26, lost=14)


def outside_code(text):
    """What GitHub reads as Markdown: the text without fences and code spans."""
    kept, fence = [], None
    for line in text.split("\n"):
        mark = re.match(r"`{4,}", line)
        if fence is None and mark:
            fence = mark.group()
        elif fence is not None and line == fence:
            fence = None
        elif fence is None:
            kept.append(re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", line))
    assert fence is None, "a fence was never closed"
    return "\n".join(kept)


def test_the_verdict_stands_first_and_the_lost_cases_follow(blocked):
    text = github.markdown(seen(blocked))
    assert text.startswith("## ⛔ fineval: BLOCK\n")
    assert text.index("| check |") < text.index("### LOST")
    assert text.count("### LOST") == 14
    assert "It is 7, not 100 USD." in text
    assert "It was 100 USD." in text


def test_hostile_text_is_neither_markdown_nor_html_nor_a_mention(tmp_path):
    made = world(tmp_path, hostile.ALL, lost=len(hostile.ALL), question=hostile.MARKDOWN)
    text = github.markdown(seen(made))
    assert text.count("### LOST") == len(hostile.ALL)
    read = outside_code(text)
    for word in ("<script", "<img", "](", "![", "@octocat", "\x1b", "\u202e", "```"):
        assert word not in read
    assert "\u202e" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("text", [*hostile.ALL, "`", "``a`", "a|b", "x`y``z"])
def test_a_code_span_holds_any_text_on_one_line(text):
    span = github.code(text, cell=True)
    assert "\n" not in span
    fence = re.match(r"`+", span).group()
    assert span.endswith(fence)
    assert fence not in span[len(fence) : -len(fence)]
    assert not re.search(r"(?<!\\)\|", span)


@pytest.mark.parametrize(
    "text", ["@octocat", "#12", "GH-12", "https://evil.example", "www.evil.example", "a_b_ *c*"]
)
def test_words_in_a_sentence_call_nobody_and_link_nowhere(text):
    out = github.escaped(text)
    assert not re.search(r"@\w|#\d|://|www\.|GH\\?-\d|(?<!\\)[_*]", out)


def test_a_summary_stays_below_its_limit_whatever_the_answers(tmp_path):
    made = world(tmp_path, ["数" * 30_000] * 60, lost=60)
    text = github.markdown(seen(made), most_bytes=100_000)
    assert len(text.encode()) < 100_000
    assert "more flipped cases" in text
    assert len(github.comment(seen(made))) < 65_536


def test_annotations_point_at_the_line_of_each_lost_case_ten_at_most(blocked):
    made = github.annotate(seen(blocked), blocked.root)
    gate, *lost = made
    assert (gate.level, gate.file) == ("error", "baselines/main.json")
    assert len(lost) == 10
    assert {(one.level, one.file) for one in lost} == {("warning", "evals/cases/all.jsonl")}
    lines = (blocked.root / "evals/cases/all.jsonl").read_text(encoding="utf-8").split("\n")
    for one in lost:
        assert json.loads(lines[one.line - 1])["id"] == one.title.removeprefix("lost: ")


def test_paths_are_relative_to_the_repository(blocked):
    made = github.annotate(seen(blocked), blocked.root, blocked.root.parent)
    assert made[0].file == f"{blocked.root.name}/baselines/main.json"


def test_no_answer_starts_a_workflow_command_of_its_own(tmp_path):
    made = world(tmp_path, hostile.ALL, lost=len(hostile.ALL), question=hostile.COMMAND)
    for annotation in github.annotate(seen(made), made.root):
        command = annotation.command()
        assert command.isprintable()
        assert re.match(r"::(error|warning|notice) [^:]*::[^\n\r]*$", command)


def test_a_command_escapes_what_would_end_its_fields():
    made = github.Annotation("error", "a,b:c%", "x%\r\ny", "d,e.jsonl", 3)
    assert made.command() == "::error file=d%2Ce.jsonl,line=3,title=a%2Cb%3Ac%25::x%25%0D%0Ay"


def test_the_command_writes_the_job_summary(blocked, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(blocked.root)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert main(["report", str(blocked.folder), "--github"]) == 4
    target = tmp_path / "summary.md"
    target.write_text("earlier step\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(blocked.root))
    capsys.readouterr()
    assert main(["report", str(blocked.folder), "--github"]) == 0
    assert target.read_text(encoding="utf-8").startswith("earlier step\n## ⛔ fineval: BLOCK")
    assert capsys.readouterr().out.count("::warning file=evals/cases/all.jsonl") == 10


def test_nothing_asked_for_is_an_error(blocked, capsys):
    assert main(["report", str(blocked.folder)]) == 4
    assert "--comment PR" in capsys.readouterr().err


class Forge:
    """GitHub's comments on one pull request, as far as they are asked for."""

    def __init__(self, *comments, may_write=True):
        self.comments = list(comments)
        self.may_write = may_write

    def __call__(self, request):
        method, path = request.method, request.path.partition("?")[0]
        if method == "GET":
            page = int(re.search(r"[?&]page=(\d+)", request.path).group(1))
            return json_reply(self.comments[100 * (page - 1) : 100 * page])
        if not self.may_write:
            return Reply(status=403, body=b"{}")
        if method == "POST":
            made = {"id": len(self.comments) + 1, "user": {"type": "Bot"}, **request.body}
            self.comments.append(made)
            return json_reply(made, status=201)
        number = int(path.rpartition("/")[2])
        (one,) = (comment for comment in self.comments if comment["id"] == number)
        one.update(request.body)
        return json_reply(one)


@pytest.fixture
def post():
    def run(forge, text):
        with serve(forge) as url:
            environment = {"GITHUB_TOKEN": "t", "GITHUB_REPOSITORY": "o/r", "GITHUB_API_URL": url}
            return github.post_comment(text, 7, environment)

    return run


def test_a_pull_request_has_one_comment_that_each_run_updates(post, blocked):
    others = [{"id": i + 1, "user": {"type": "User"}, "body": "hello"} for i in range(120)]
    forge = Forge(*others)
    text = github.comment(seen(blocked))
    assert post(forge, text) == "comment made"
    assert post(forge, text + "again") == "comment updated"
    assert len(forge.comments) == 121
    assert forge.comments[-1]["body"].endswith("again")


def test_a_person_who_copies_the_marker_keeps_their_comment(post, blocked):
    forge = Forge({"id": 1, "user": {"type": "User"}, "body": f"{github.MARKER} mine"})
    assert post(forge, github.comment(seen(blocked))) == "comment made"
    assert forge.comments[0]["body"].endswith("mine")


def test_a_forks_token_that_may_not_write_is_no_error(post, blocked):
    forge = Forge(may_write=False)
    assert post(forge, github.comment(seen(blocked))).startswith("no comment")
