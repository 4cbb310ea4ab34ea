"""`structured_output`: the API itself is asked for JSON, by the cases that want it only."""

from tests.http_server import ScriptedServer, ok
from tests.plugin.live_server import ask_live, figure
from tests.project import many, number_case


def reply(seen):
    amount = str(100 + figure(seen))
    return ok(f'{{"total": "{amount}"}}' if "response_format" in seen.body else amount)


def test_only_cases_whose_answer_is_json_ask_for_it(project):
    wants = {"name": "numeric", "answer_format": "json", "answer_key": "total"}
    project.suite("numbers", [*many(1), number_case("e001", 101, scorer=wants)])
    with ScriptedServer(reply) as server:
        ask_live(project, server.url)
        path = project.root / "pyproject.toml"
        text = path.read_text(encoding="utf-8")
        path.write_text(
            text.replace('model = "new"\n', 'model = "new"\nstructured_output = true\n'),
            encoding="utf-8",
        )
        done = project.pytest("--fineval-live", "--fineval-baseline", "none")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*2 correct*"])
    formats = {figure(seen): seen.body.get("response_format") for seen in server.seen}
    assert formats == {0: None, 1: {"type": "json_object"}}
