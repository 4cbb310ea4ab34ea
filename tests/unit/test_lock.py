"""The ledger of cases: what it notices, and that two branches merge."""

import subprocess
import time
from pathlib import Path

import pytest

from pytest_fineval.cases import files, lock
from pytest_fineval.cases.lock import Ledger
from pytest_fineval.cases.model import Case
from pytest_fineval.cli import main
from pytest_fineval.errors import InputError


def case(name, answer="1", question=None, **fields):
    return Case.model_validate(
        {
            "id": name,
            "category": "extraction",
            "candidate": {"question": question or f"What is {name}?"},
            "gold": {"answer": answer},
            "scorer": {"name": "exact"},
            **fields,
        }
    )


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """A folder with one case file; writes it and reads it."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "evals" / "cases" / "a.jsonl"

    def write(*cases):
        files.write(path, cases)
        return files.read(path, ["extraction"])

    write.path = path
    write.lock = tmp_path / "evals" / "cases.lock"
    return write


@pytest.fixture
def kept(suite):
    """The suite with its cases a and b in the ledger."""
    suite(case("a"), case("b"))
    assert main(["lock", "add", "evals/cases"]) == 0
    return suite


def drift(suite, *cases):
    return lock.drift(lock.read(suite.lock), suite(*cases), whole=[suite.path])


def test_what_was_added_shows_no_drift(kept, capsys):
    assert main(["lock", "check"]) == 0
    assert "2 active, 0 retired, no drift" in capsys.readouterr().out


def test_a_changed_gold_is_a_fault_that_names_case_file_and_line(kept):
    found = drift(kept, case("a"), case("b", "2"))
    (fault,) = found.faults
    assert "a.jsonl:2" in fault
    assert "fineval lock bump b" in fault


def test_a_removed_case_is_a_fault(kept):
    (fault,) = drift(kept, case("a")).faults
    assert "case b is gone" in fault
    assert "fineval lock retire b" in fault


def test_a_removed_file_is_a_fault(kept, capsys):
    kept.path.rename(kept.path.with_name("other.txt"))
    assert main(["lock", "check"]) == 4
    assert "cases a, b are gone" in capsys.readouterr().err


def test_a_file_that_was_not_read_has_lost_no_case(kept):
    kept(case("a"), case("b"))
    assert not lock.drift(lock.read(kept.lock), [], whole=[]).faults


def test_a_new_case_is_a_notice_until_it_is_added(kept, capsys):
    found = drift(kept, case("a"), case("b"), case("c"))
    assert not found.faults
    assert "case c is not in cases.lock yet" in found.notices[0]
    assert main(["lock", "add"]) == 0
    assert not drift(kept, case("a"), case("b"), case("c")).notices


@pytest.mark.parametrize("question", ["What is b?", "  what IS\nb? "])
def test_an_old_question_under_a_new_id_is_warned_of(kept, question):
    found = drift(kept, case("a"), case("b"), case("c", question=question))
    assert any("c asks the same as b" in notice for notice in found.notices)


def test_a_retired_question_that_comes_back_under_a_new_id_is_warned_of(kept):
    assert main(["lock", "retire", "b", "--reason", "too hard"]) == 0
    found = drift(kept, case("a"), case("c", question="What is b?"))
    assert not found.faults
    assert any("c asks the same as b" in notice for notice in found.notices)


def test_a_bump_records_the_next_version_and_keeps_the_first(kept):
    before = kept.lock.read_text().splitlines()
    kept(case("a"), case("b", "2"))
    assert main(["lock", "bump", "b", "--reason", "the gold was wrong"]) == 0
    after = kept.lock.read_text().splitlines()
    assert set(before) < set(after)
    ledger = lock.read(kept.lock)
    assert ledger.latest["b"].version == 2
    assert ledger.latest["b"].reason == "the gold was wrong"
    assert ledger.recorded == {"b": case("b", "2").digest}
    assert not drift(kept, case("a"), case("b", "2")).faults


def test_going_back_to_an_earlier_version_is_a_change_too(kept):
    kept(case("a"), case("b", "2"))
    main(["lock", "bump", "b", "--reason", "r"])
    assert "changed since version 2" in drift(kept, case("a"), case("b")).faults[0]


def test_a_retired_case_may_go(kept):
    assert main(["lock", "retire", "b", "--reason", "withdrawn"]) == 0
    assert drift(kept, case("a")) == lock.Drift()
    assert lock.read(kept.lock).recorded == {"b": None}


def test_a_retired_case_that_stays_is_a_notice(kept):
    main(["lock", "retire", "b", "--reason", "withdrawn"])
    assert "retired but still stands" in drift(kept, case("a"), case("b")).notices[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bump", "a", "--reason", "r"], "nothing to bump"),
        (["bump", "zz", "--reason", "r"], 'no case file holds "zz"'),
        (["bump", "a", "--reason", " "], "nothing to bump"),
        (["retire", "a", "--reason", " "], "a reason is needed"),
        (["retire", "bb", "--reason", "r"], 'did you mean "b"?'),
        (["add", "evals/nothing"], "no such case file"),
    ],
)
def test_what_cannot_be_recorded_is_refused(kept, capsys, arguments, message):
    before = kept.lock.read_bytes()
    assert main(["lock", *arguments]) == 4
    assert message in capsys.readouterr().err
    assert kept.lock.read_bytes() == before


def test_add_does_not_record_a_change(kept, capsys):
    kept(case("a"), case("b", "2"))
    assert main(["lock", "add"]) == 4
    assert "fineval lock bump b" in capsys.readouterr().err


def test_a_retired_case_may_come_back_as_a_new_version(kept):
    main(["lock", "retire", "b", "--reason", "withdrawn"])
    assert main(["lock", "bump", "b", "--reason", "published again"]) == 0
    assert drift(kept, case("a"), case("b")) == lock.Drift()
    assert lock.read(kept.lock).latest["b"].version == 2


def test_retiring_twice_is_refused(kept):
    main(["lock", "retire", "b", "--reason", "withdrawn"])
    with pytest.raises(InputError, match="retired already"):
        lock.retired(lock.read(kept.lock), "b", "again")


def test_a_case_may_move_to_another_file(kept):
    files.write(kept.path, [case("a")])
    other = kept.path.with_name("other.jsonl")
    files.write(other, [case("b")])
    assert main(["lock", "check"]) == 0
    assert main(["lock", "add"]) == 0
    found = files.read(kept.path, ["extraction"])
    assert not lock.drift(lock.read(kept.lock), found, whole=[kept.path]).faults


def test_without_a_ledger_nothing_is_checked(suite, capsys):
    found = suite(case("a"))
    assert lock.check(found, [suite.path], suite.path.parents[2]) == lock.Drift()
    assert main(["lock", "check"]) == 4
    assert "there is no cases.lock here" in capsys.readouterr().err


def test_a_ledger_above_the_root_is_not_the_projects(suite, tmp_path):
    found = suite(case("a"))
    (tmp_path / "cases.lock").write_text("junk")
    assert lock.check(found, [suite.path], suite.path.parent) == lock.Drift()
    with pytest.raises(InputError, match=r"cases.lock:1"):
        lock.check(found, [suite.path], tmp_path)


def test_a_line_that_is_gone_or_rewritten_is_seen(kept):
    whole = lock.read(kept.lock)
    assert whole.lacks(whole) == []
    shorter = Ledger(whole.path, whole.entries[:1])
    assert shorter.lacks(whole) == ["b"]
    rewritten = whole.entries[1].model_copy(update={"sha256": "0" * 64})
    assert Ledger(whole.path, (whole.entries[0], rewritten)).lacks(whole) == ["b"]
    assert whole.with_entries([rewritten]).lacks(whole) == []


def test_the_digest_knows_no_order(kept):
    whole = lock.read(kept.lock)
    assert Ledger(whole.path, whole.entries[::-1]).digest == whole.digest
    assert Ledger(whole.path, whole.entries[:1]).digest != whole.digest


def test_this_projects_own_ledger_shows_no_drift(monkeypatch, capsys):
    monkeypatch.chdir(Path(__file__).parents[2])
    assert main(["lock", "check"]) == 0, capsys.readouterr().err
    assert not capsys.readouterr().err


# With real git.


def git(folder, *arguments, fails=False):
    done = subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.com", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert fails or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def repository(kept, tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    return kept


def on_branch(folder, name, *commands):
    git(folder, "switch", "-q", "-c", name, "main")
    for change in commands:
        change()
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", name)


def test_two_branches_that_add_cases_merge(repository, tmp_path):
    for name in ("c", "d"):
        on_branch(
            tmp_path,
            name,
            lambda name=name: repository(case("a"), case("b"), case(name)),
            lambda: main(["lock", "add"]),
        )
    git(tmp_path, "merge", "-q", "-m", "both", "c")
    assert main(["lock", "check"]) == 0
    assert set(lock.read(repository.lock).latest) == {"a", "b", "c", "d"}


def test_a_branch_that_retires_and_one_that_adds_merge(repository, tmp_path):
    on_branch(
        tmp_path,
        "adds",
        lambda: repository(case("a"), case("b"), case("c")),
        lambda: main(["lock", "add"]),
    )
    on_branch(tmp_path, "retires", lambda: main(["lock", "retire", "b", "--reason", "gone"]))
    git(tmp_path, "merge", "-q", "-m", "both", "adds")
    ledger = lock.read(repository.lock)
    assert ledger.latest["b"].state == "retired"
    assert ledger.latest["c"].state == "active"


def test_a_case_changed_on_two_branches_is_settled_by_a_person(repository, tmp_path, capsys):
    for answer in ("2", "3"):
        on_branch(
            tmp_path,
            f"to-{answer}",
            lambda answer=answer: repository(case("a"), case("b", answer)),
            lambda: main(["lock", "bump", "b", "--reason", "better gold"]),
        )
    git(tmp_path, "merge", "-q", "-m", "both", "to-2")
    assert main(["lock", "check"]) == 4  # both lines of the case stand in the file
    assert "ids are unique" in capsys.readouterr().err
    repository(case("a"), case("b", "3"))
    assert main(["lock", "check"]) == 4
    assert "changed on two branches" in capsys.readouterr().err
    assert main(["lock", "bump", "b", "--reason", "3 it is"]) == 0
    assert main(["lock", "check"]) == 0


def test_a_ledger_that_git_ignores_is_warned_of(suite, tmp_path, capsys):
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("*.lock\n")
    suite(case("a"))
    main(["lock", "add", "evals/cases"])
    assert "git ignores" in capsys.readouterr().out


def test_a_large_ledger_is_compared_in_a_moment(tmp_path):
    entries = tuple(
        lock.Entry(id=f"c{n}", version=1, sha256="0" * 64, asks="0" * 16, file="a.jsonl")
        for n in range(5000)
    )
    whole = Ledger(tmp_path / "cases.lock", entries)
    began = time.process_time()
    assert whole.lacks(Ledger(whole.path, entries[::-1])) == []
    assert time.process_time() - began < 5  # 0.1 s; with a look at all lines for each, minutes
