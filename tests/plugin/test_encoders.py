"""A sentence encoder of the project's own, named in the settings and by the cases that use it."""

import json
import sys

import pytest

from pytest_fineval.scoring.embeddings import EmbeddingCache

MODULE = """
import numpy as np

class Letters:
    identity = "letters-1a2b3c4d"

    def encode(self, texts):
        counts = np.array([[1e-6 + t.count(c) for c in "abcdeабвге"] for t in texts], "float32")
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

def other():
    made = Letters()
    made.identity = "letters-00000000"
    return made

def broken():
    raise OSError("no weights")
"""
DECLARED = '[tool.fineval.encoders]\n"letters-1a2b3c4d" = "own_encoders:{}"'


@pytest.fixture
def summaries(project):
    project.categories = ("summarization",)
    project.suite(
        "summaries",
        [
            {
                "id": f"s{number}",
                "category": "summarization",
                "candidate": {"question": f"Summarize {number}."},
                "gold": {"answer": "abc де"},
                "scorer": {"name": "summary", "encoder": "letters-1a2b3c4d"},
                "pass_mark": 0.7,
            }
            for number in range(2)
        ],
    )
    project.answers("new", {"s0": "abc де", "s1": "bbb гг"})
    project.extra = DECLARED.format("Letters")
    project.settings()
    (project.root / "own_encoders.py").write_text(MODULE, encoding="utf-8")
    yield project
    sys.modules.pop("own_encoders", None)


def records(project):
    lines = (project.run_folder() / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_declared_encoder_scores_and_is_part_of_the_scorers_version(summaries):
    assert summaries.pytest("--fineval-baseline", "none", "--fineval-gate", "off").ret == 0
    scores = {r["amends"][0]: r["score"] for r in records(summaries) if "amends" in r}
    assert scores["s0"]["value"] == 1.0
    assert scores["s0"]["scorer"] == "summary@1+letters-1a2b3c4d"
    # Three b and two г against a, b, c and е: the encoder knows no д.
    assert scores["s1"]["parts"]["cosine"] == pytest.approx(3 / 13**0.5 / 4**0.5, abs=1e-5)


def test_its_embeddings_are_kept_apart_and_stand_in_for_it(summaries):
    folder = summaries.root / "evals" / "recordings" / "embeddings"
    cache = EmbeddingCache(encoder="letters-1a2b3c4d")
    for text in ("abc де", "bbb гг"):
        cache.add(text, [0.6, 0.8])
    cache.save(folder / "letters-1a2b3c4d.jsonl")
    (summaries.root / "own_encoders.py").unlink()
    assert summaries.pytest("--fineval-baseline", "none", "--fineval-gate", "off").ret == 0
    scores = {r["amends"][0]: r["score"] for r in records(summaries) if "amends" in r}
    assert {score["parts"]["cosine"] for score in scores.values()} == {1.0}
    assert not (folder / "cache.jsonl").exists()


@pytest.mark.parametrize(
    ("factory", "why"),
    [
        ("other", "gives the encoder 'letters-00000000': the names must agree"),
        ("broken", "raised OSError: no weights"),
        ("Leters", 'has no callable "Leters"; did you mean "Letters"?'),
    ],
)
def test_an_encoder_that_cannot_be_had_leaves_the_run_unjudged(summaries, factory, why):
    summaries.extra = DECLARED.format(factory)
    summaries.settings()
    shown = summaries.pytest("--fineval-baseline", "none").stdout.str()
    assert "NOT JUDGED" in shown
    assert '[tool.fineval.encoders] "letters-1a2b3c4d"' in shown
    assert why in shown
    assert all(record["status"] == "pending" for record in records(summaries))


def test_a_case_that_names_an_encoder_the_project_lacks_is_refused(summaries):
    summaries.extra = DECLARED.format("Letters").replace("1a2b3c4d", "1a2b3c4e")
    summaries.settings()
    done = summaries.pytest("--fineval-baseline", "none")
    assert done.ret == 4
    assert "summaries.jsonl:1:" in done.stderr.str()
    assert (
        'encoder "letters-1a2b3c4d" is not in [tool.fineval.encoders]; '
        'did you mean "letters-1a2b3c4e"?' in done.stderr.str()
    )


def test_an_identity_that_names_no_file_is_refused(summaries):
    summaries.extra = '[tool.fineval.encoders]\n"../up" = "own_encoders:Letters"'
    summaries.settings()
    done = summaries.pytest("--fineval-baseline", "none")
    assert done.ret == 4
    assert "encoders" in done.stderr.str()
