"""`fineval_client` in conftest.py replaces the configured client."""

import json
import textwrap

import pytest

from tests.project import many


def conftest(project, text):
    (project.root / "evals" / "conftest.py").write_text(textwrap.dedent(text), encoding="utf-8")


def texts(project):
    lines = (project.run_folder() / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["answer"].get("text") for line in lines]


@pytest.fixture
def three(project):
    project.suite("numbers", many(3))
    project.settings()
    return project


def test_a_synchronous_callable_is_asked_with_the_request(three):
    conftest(
        three,
        """
        import pytest

        @pytest.fixture(scope="session")
        def fineval_client():
            return lambda request: "it is 100: " + request.messages[-1].content
        """,
    )
    assert three.pytest("--fineval-baseline", "none").ret == 0
    assert texts(three)[1] == "it is 100: What is figure e001?"


def test_an_asynchronous_callable_is_awaited(three):
    conftest(
        three,
        """
        import asyncio
        import pytest

        async def ask(request):
            await asyncio.sleep(0.01)
            return "100"

        @pytest.fixture(scope="session")
        def fineval_client():
            return ask
        """,
    )
    three.pytest("--fineval-baseline", "none")
    assert texts(three) == ["100", "100", "100"]


def test_a_function_scoped_client_is_made_for_each_item(three):
    conftest(
        three,
        """
        import pytest

        @pytest.fixture
        def fineval_client(request):
            return lambda _: request.node.name
        """,
    )
    three.pytest("--fineval-baseline", "none")
    assert texts(three)[2] == "test_numbers[e002]"


def test_a_client_that_raises_costs_its_case_and_no_more(three):
    conftest(
        three,
        """
        import pytest

        @pytest.fixture(scope="session")
        def fineval_client():
            def ask(request):
                if "e001" in request.messages[-1].content:
                    raise OSError("no route")
                return "100"
            return ask
        """,
    )
    done = three.pytest("--fineval-baseline", "none")
    done.stdout.fnmatch_lines(["*1 correct, 1 errored, 1 wrong*"])


def test_gold_case_id_and_category_never_reach_the_client(three):
    conftest(
        three,
        """
        import pathlib
        import pytest

        @pytest.fixture(scope="session")
        def fineval_client():
            def ask(request):
                path = pathlib.Path("seen.txt")
                with path.open("a") as file:
                    file.write(request.model_dump_json() + "\\n")
                return "100"
            return ask
        """,
    )
    three.pytest("--fineval-baseline", "none")
    seen = (three.root / "seen.txt").read_text(encoding="utf-8")
    assert len(seen.splitlines()) == 3
    for secret in ("extraction", '"gold"', "101", "102", "numeric"):
        assert secret not in seen
