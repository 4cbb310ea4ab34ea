"""Shards of one run: dealt by cluster, judged only when they are joined, and then as one run."""

import json

import pytest

from pytest_fineval.store.run import read
from tests.plugin.live import live
from tests.project import many, once


def clustered(n, category, prefix, size):
    """Cases of which each `size` that follow each other are of one filing."""
    cases = many(n, category, prefix)
    return [{**case, "cluster": f"{prefix}-filing-{i // size}"} for i, case in enumerate(cases)]


def build(project):
    project.categories = ("extraction", "reasoning")
    project.suite("extraction", clustered(30, "extraction", "e", 3))
    project.suite("reasoning", many(40, "reasoning", "r"))
    project.answers("old", project.right(), samples=2)
    project.answers("new", project.right(*(f"r{i:03}" for i in range(9)), "e003"), samples=2)
    project.settings()
    project.baseline(repeat=2)


@pytest.fixture
def ready(project, tmp_path_factory):
    """Two categories, one of them in filings of three cases; 9 of 40 reasoning cases are lost."""
    return once(project, "shards", build, tmp_path_factory.mktemp("kept") / "shards")


def shards(project, of, *arguments):
    """Run each shard; their folders."""
    folders = []
    for index in range(1, of + 1):
        folder = project.root / "shards" / str(index)
        done = project.pytest(
            *("--fineval-shard", f"{index}/{of}", "--fineval-run", str(folder), *arguments)
        )
        assert done.ret == 0, done.stdout.str() + done.stderr.str()
        folders.append(str(folder))
    return folders


def merge(project, folders, *arguments):
    return project.fineval("merge", *folders, "-o", "merged", *arguments, fails=True)


def bytes_of(project, name):
    return (project.root / name / "verdict.json").read_bytes()


@pytest.mark.parametrize(
    ("of", "arguments"),
    [(3, ()), (2, ("--fineval-repeat", "2")), (3, ("-n", "2")), (4, ("--fineval-gate", "off"))],
    ids=["three", "two samples", "xdist", "gate off"],
)
def test_the_merged_verdict_is_the_unsharded_one_byte_for_byte(ready, of, arguments):
    whole = ready.pytest("--fineval-run", "whole", *arguments)
    folders = shards(ready, of, *arguments)
    done = merge(ready, folders[::-1])
    assert (done.returncode, bytes_of(ready, "merged")) == (whole.ret, bytes_of(ready, "whole"))
    assert done.stdout.splitlines()[-1].startswith("fineval: ")
    # What stands in the folder is a run as any other: judged again, it says the same.
    again = ready.fineval("gate", "merged", "--json", fails=True)
    assert again.stdout.encode() == bytes_of(ready, "whole")
    assert read(ready.root / "merged").records == read(ready.root / "whole").records


def test_the_whole_run_blocks_and_no_shard_says_so(ready):
    folders = shards(ready, 3)
    for number, folder in enumerate(folders, start=1):
        verdict = ready.verdict(ready.root / folder)
        assert verdict["outcome"] == "not_judged"
        assert verdict["cause"] == f"not judged: shard {number} of 3: fineval merge joins them"
        assert verdict["checks"] == []
        assert ready.fineval("gate", folder).stdout.splitlines()[-1].startswith("fineval: NOT JUDG")
    done = merge(ready, folders)
    assert done.returncode == 1
    assert ready.verdict(ready.root / "merged")["outcome"] == "block"


def test_a_cluster_is_never_split_and_every_case_falls_to_one_shard(ready):
    runs = [read(ready.root / folder) for folder in shards(ready, 3)]
    seen = [record.case for run in runs for record in run.records]
    assert sorted(case.id for case in seen) == sorted(case.id for case in runs[0].manifest.planned)
    where = {}
    for number, run in enumerate(runs):
        assert {record.case.id for record in run.records} == set(run.manifest.shard.cases)
        for record in run.records:
            where.setdefault(record.case.cluster, set()).add(number)
    assert all(len(numbers) == 1 for numbers in where.values())
    assert {number for numbers in where.values() for number in numbers} == {0, 1, 2}


def test_a_new_case_moves_no_other_to_another_shard(ready):
    before = [read(ready.root / folder).manifest.shard.cases for folder in shards(ready, 3)]
    more = [*many(40, "reasoning", "r"), *many(5, "reasoning", "n")]
    ready.suite("reasoning", more)
    ready.answers("new", ready.right())
    for number, was in enumerate(before, start=1):
        folder = ready.root / f"later-{number}"
        ready.pytest("--fineval-shard", f"{number}/3", "--fineval-run", str(folder))
        now = read(folder).manifest.shard.cases
        assert [name for name in now if not name.startswith("n")] == list(was)


def test_more_shards_than_clusters_leave_some_without_a_case(project):
    project.suite("extraction", many(3))
    project.answers("old", project.right())
    project.answers("new", project.right())
    project.settings()
    project.baseline()
    whole = project.pytest("--fineval-run", "whole")
    folders = shards(project, 8)
    assert [] in [list(read(project.root / folder).records) for folder in folders]
    assert merge(project, folders).returncode == whole.ret == 0
    assert bytes_of(project, "merged") == bytes_of(project, "whole")


def test_an_empty_shard_is_one_under_xdist_too(project):
    project.suite("extraction", many(1))
    project.answers("old", project.right())
    project.settings()
    arguments = ("--fineval-baseline", "none", "--fineval-model", "old", "-n", "1")
    folders = shards(project, 2, *arguments)
    assert sorted(len(read(project.root / folder).records) for folder in folders) == [0, 1]


def test_tests_that_ask_no_case_run_in_every_shard(ready):
    (ready.root / "evals" / "test_plain.py").write_text("def test_plain():\n    pass\n")
    for number in (1, 2):
        done = ready.pytest("--fineval-shard", f"{number}/2", "-v", "--fineval-run", f"r{number}")
        done.stdout.fnmatch_lines(["*test_plain PASSED*"])


# Identity, gaps, duplicates.


def fault(project, folders):
    done = merge(project, folders)
    assert done.returncode == 4, done.stdout
    assert not (project.root / "merged").exists()
    return done.stderr


def test_a_missing_shard_is_named(ready):
    folders = shards(ready, 3)
    assert "shards 1, 3 of 3 missing" in fault(ready, folders[1:2])
    assert "shard 2 of 3 missing" in fault(ready, [folders[0], folders[2]])


def test_a_shard_that_is_given_twice_is_named(ready):
    folders = shards(ready, 2)
    assert "shard 1 of 2 is given twice" in fault(ready, [*folders, folders[0]])


def test_a_run_that_is_no_shard_is_refused(ready):
    folders = shards(ready, 2)
    ready.pytest("--fineval-run", "whole")
    assert "whole: is no shard" in fault(ready, [*folders, "whole"])


def test_shards_of_another_n_are_refused(ready):
    folders = shards(ready, 2)
    ready.pytest("--fineval-shard", "3/3", "--fineval-run", "other")
    assert "is shard 3 of 3" in fault(ready, [*folders, "other"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fineval-model", "old"), "the gated model"),
        (("--fineval-repeat", "2"), "--fineval-repeat"),
        (("--fineval-gate", "deploy"), "--fineval-gate"),
        (("--fineval-baseline", "none"), "--fineval-baseline"),
    ],
)
def test_a_shard_that_ran_with_other_options_is_refused(ready, arguments, words):
    folders = shards(ready, 2)
    ready.pytest("--fineval-shard", "2/2", "--fineval-run", "other", *arguments)
    text = fault(ready, [folders[0], "other"])
    assert "is a shard of another run" in text
    assert words in text


def test_a_shard_of_other_settings_is_refused(ready):
    folders = shards(ready, 2)
    ready.extra = "[tool.fineval.run]\nconcurrency = 3"
    ready.settings()
    ready.pytest("--fineval-shard", "2/2", "--fineval-run", "other")
    assert "[tool.fineval] in pyproject.toml" in fault(ready, [folders[0], "other"])


def test_a_shard_of_other_cases_is_refused(project):
    project.suite("extraction", many(8))
    project.answers("old", project.right())
    project.settings()
    options = ("--fineval-baseline", "none", "--fineval-model", "old")
    folders = shards(project, 2, *options)
    project.suite("extraction", many(9))
    project.answers("old", project.right())
    project.pytest("--fineval-shard", "2/2", "--fineval-run", "other", *options)
    assert "another suite digest" in fault(project, [folders[0], "other"])


def test_a_lost_record_is_a_gap_that_is_named(ready):
    folders = shards(ready, 2)
    path = ready.root / folders[1] / "records.jsonl"
    first, rest = path.read_text().split("\n", 1)
    path.write_text(rest)
    text = fault(ready, folders)
    assert f"has no record of {json.loads(first)['case']['id']} (new, sample 0)" in text
    assert "--fineval-resume=" in text


def test_a_record_that_stands_twice_is_named(ready):
    folders = shards(ready, 2)
    path = ready.root / folders[0] / "records.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    name = json.loads(lines[3])["case"]["id"]
    path.write_text("".join([*lines, lines[3]]))
    assert f"holds more than one record of {name} (new, sample 0)" in fault(ready, folders)


def test_a_record_of_another_shard_is_refused(ready):
    folders = shards(ready, 2)
    path = ready.root / folders[0] / "records.jsonl"
    strange = (ready.root / folders[1] / "records.jsonl").read_text().splitlines()[0]
    path.write_text(path.read_text() + strange + "\n")
    text = fault(ready, folders)
    assert f"a record of {json.loads(strange)['case']['id']}" in text
    assert "not shard 1 of 2's" in text


def test_a_shard_that_was_stopped_is_refused_and_can_be_gone_on_with(ready):
    folder = ready.root / "first"
    ready.pytest(
        *("--fineval-shard", "1/2", "--fineval-run", str(folder)), "-x", "--fineval-strict"
    )
    ready.pytest("--fineval-shard", "2/2", "--fineval-run", "second")
    assert "shard 1 of 2 is incomplete" in fault(ready, [str(folder), "second"])
    done = ready.pytest("--fineval-shard", "1/2", f"--fineval-resume={folder}")
    assert done.ret == 0
    assert merge(ready, [str(folder), "second"]).returncode == 1


def test_a_shard_is_resumed_as_the_same_shard_only(ready):
    folders = shards(ready, 2)
    done = ready.pytest("--fineval-shard", "2/2", f"--fineval-resume={folders[0]}")
    assert done.ret == 4
    assert "--fineval-shard" in done.stderr.str()


def test_a_folder_that_holds_a_run_is_not_overwritten(ready):
    folders = shards(ready, 2)
    merge(ready, folders)
    again = merge(ready, folders)
    assert again.returncode == 4
    assert "merged: already holds a run; name another folder with -o" in again.stderr


def test_a_shard_is_no_whole_run_for_other_commands(ready):
    folder = shards(ready, 2, "--fineval-repeat", "2")[0]
    for command in (
        ("baseline", "propose", folder, "--reason", "r", "-o", "b.json", "--by", "t"),
        ("compare", folder),
        ("gate", folder, "--self-check"),
    ):
        done = ready.fineval(*command, fails=True)
        assert done.returncode == 4, command
        assert "whole" in done.stderr, command


@pytest.mark.parametrize("given", ["0/2", "3/2", "1", "a/b", "1/0"])
def test_a_shard_that_there_is_not_is_a_usage_error(ready, given):
    done = ready.pytest("--fineval-shard", given)
    assert done.ret == 4
    assert "write I/N with 1 <= I <= N" in done.stderr.str()


def test_a_rerun_that_recorded_a_key_twice_shows_in_the_folder_too(project):
    project.suite("extraction", many(2))
    project.answers("old", project.right())
    project.settings()
    project.pytester.makeconftest(
        """
        import pytest
        from _pytest.runner import runtestprotocol

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            if "e000" not in item.name:
                return None
            for _ in range(2):
                item._initrequest()
                for report in runtestprotocol(item, nextitem=nextitem, log=False):
                    item.ihook.pytest_runtest_logreport(report=report)
            return True
        """
    )
    project.pytest("--fineval-baseline", "none", "--fineval-model", "old", "--fineval-run", "twice")
    assert project.verdict(project.root / "twice")["repeated"] == ["e000 (old, sample 0)"]
    assert [str(key) for key in read(project.root / "twice").repeated] == ["e000 (old, sample 0)"]


# Weights.


def test_cases_are_dealt_by_how_long_they_took(project):
    live(project, 12, 0.0, concurrency=4)
    slow = project.root / "slow.py"
    text = slow.read_text()
    slow.write_text(text.replace("asyncio.sleep(0.0)", "asyncio.sleep(0.3 * ('e000' in question))"))
    options = ("--fineval-baseline", "none", "--fineval-live")
    assert project.pytest(*options, "--fineval-run", "before").ret == 0
    slow.write_text(text)
    folders = shards(project, 2, *options, "--fineval-shard-weights", "before")
    parts = [read(project.root / folder).manifest.shard.cases for folder in folders]
    assert parts[0] == ("e000",)  # it alone takes longer than all others
    assert len(parts[1]) == 11
    assert merge(project, folders).returncode == 0


def test_shards_of_different_weights_are_refused(project):
    live(project, 6, 0.0, concurrency=4)
    options = ("--fineval-baseline", "none", "--fineval-live")
    for name in ("one", "two"):
        assert project.pytest(*options, "--fineval-run", name).ret == 0
    for number, name in ((1, "one"), (2, "two")):
        project.pytest(
            *options,
            *("--fineval-shard", f"{number}/2", "--fineval-run", f"s{number}"),
            *("--fineval-shard-weights", name),
        )
    assert "different --fineval-shard-weights" in fault(project, ["s1", "s2"])


def test_a_run_without_latencies_weighs_nothing(ready):
    ready.pytest("--fineval-run", "replayed")
    done = ready.pytest("--fineval-shard", "1/2", "--fineval-shard-weights", "replayed")
    assert done.ret == 4
    assert "holds no latencies" in done.stderr.str()


def test_weights_without_a_shard_are_a_usage_error(ready):
    done = ready.pytest("--fineval-shard-weights", "replayed")
    assert done.ret == 4
    assert "add --fineval-shard I/N" in done.stderr.str()


# A deploy's second look.


def test_a_merged_run_is_gone_on_with_for_the_second_look(project):
    project.suite("extraction", many(40))
    project.answers("old", project.right())
    project.answers("new", project.right("e001", "e002", "e003"))
    project.answers("new", project.right(), samples=(3, 4, 5))
    project.settings()
    project.baseline()
    whole = project.pytest("--fineval-gate", "deploy", "--fineval-run", "whole")
    assert project.verdict(project.root / "whole")["checks"][0]["look"] == 2
    folders = shards(project, 2, "--fineval-gate", "deploy")
    done = merge(project, folders)
    assert done.returncode == 1
    assert "--fineval-resume=merged" in done.stderr
    resumed = project.pytest("--fineval-gate", "deploy", "--fineval-resume=merged")
    assert resumed.ret == whole.ret
    assert bytes_of(project, "merged") == bytes_of(project, "whole")
