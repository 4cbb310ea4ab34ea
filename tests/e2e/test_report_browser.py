"""The HTML report in a real browser: what a reviewer sees, and that hostile text stays text."""

from dataclasses import replace

import pytest

from pytest_fineval.report.html import render
from pytest_fineval.report.material import gather
from pytest_fineval.report.view import view
from tests import hostile
from tests.browser import browser
from tests.report_world import world

COUNT = "document.getElementById('count').textContent"
CARDS = "document.querySelectorAll('.case').length"


@pytest.fixture(scope="module")
def page():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def blocked(tmp_path_factory):
    root = tmp_path_factory.mktemp("world")
    answers = ["It is 7, not 100 USD."] * 12 + ["It was 100 USD."] * 48
    return write(world(root, answers, lost=12, samples=2, passage="A passage."))


def write(made):
    path = made.root / "report.html"
    path.write_text(render(view(gather(made.folder, made.root))), encoding="utf-8")
    return path


def open_clean(page, path):
    page.console.clear()
    page.requests.clear()
    took = page.open(path)
    assert page.run("document.documentElement.dataset.ready") == "yes"
    assert page.console == []
    assert {url.partition("#")[0] for url in page.requests} == {path.as_uri()}
    return took


def choose(page, name, value):
    page.run(
        f"(() => {{ const f = document.getElementById('f-{name}'); f.value = {value!r};"
        "f.dispatchEvent(new Event('change')); })()"
    )


def test_the_lost_cases_are_what_is_seen_first(page, blocked):
    open_clean(page, blocked)
    assert page.run(COUNT) == "12 of 60 cases, page 1 of 1"
    assert page.run("document.querySelector('.word').textContent") == "BLOCK"
    assert page.run("document.querySelector('.case mark').textContent") == "100 USD"
    assert page.run("[...document.querySelectorAll('.case .tag')].map(t => t.textContent)[0]") == (
        "lost"
    )


def test_filters_and_search_narrow_the_list(page, blocked):
    open_clean(page, blocked)
    choose(page, "change", "")
    assert page.run(COUNT) == "60 of 60 cases, page 1 of 3"
    choose(page, "category", "reasoning")
    assert page.run(COUNT).startswith("30 of 60")
    choose(page, "status", "wrong")
    assert page.run(COUNT).startswith("6 of 60")
    choose(page, "tag", "language=ja")
    assert page.run(COUNT).startswith("2 of 60")
    page.run("document.getElementById('reset').click()")
    page.run("document.getElementById('f-search').value = 'CASE-00042'")
    page.run("document.getElementById('f-search').dispatchEvent(new Event('input'))")
    page.run("new Promise(done => setTimeout(done, 300))")
    assert page.run(COUNT).startswith("1 of 60")


def test_all_of_it_can_be_reached_by_keyboard(page, blocked):
    open_clean(page, blocked)
    choose(page, "change", "")
    reached = []
    for _ in range(14):
        page.press("Tab", 9)
        reached.append(page.run("document.activeElement.id || document.activeElement.className"))
    wanted = ["f-change", "f-category", "f-status", "f-language", "f-tag", "f-search", "reset"]
    assert [name for name in reached if name in wanted] == wanted
    page.run("document.getElementById('next').focus()")
    page.press("Enter", 13)
    page.run("document.getElementById('next').click()")
    assert "page 2" in page.run(COUNT)
    assert page.run("document.activeElement.id") == "list"


def test_every_control_and_drawing_has_a_name(page, blocked):
    open_clean(page, blocked)
    tree = page.send("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "combobox", "searchbox", "image", "img", "link", "region", "article"}
    nameless = [
        node["role"]["value"]
        for node in tree
        if not node.get("ignored")
        and node["role"]["value"] in roles
        and not node.get("name", {}).get("value")
    ]
    assert nameless == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(page, blocked, scheme):
    page.media(scheme=scheme)
    open_clean(page, blocked)
    weak = page.run(CONTRAST)
    page.media()
    assert weak == []


@pytest.mark.parametrize("width", [320, 390, 800])
def test_no_width_needs_scrolling_sideways(page, blocked, width):
    page.size(width, 800, phone=True)
    open_clean(page, blocked)
    wide = page.run("document.documentElement.scrollWidth")
    page.size(1200, 900)
    assert wide == width


def test_it_prints_every_chosen_case(page, blocked):
    open_clean(page, blocked)
    choose(page, "change", "")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    assert page.run(CARDS) == 60
    assert page.pdf().startswith(b"%PDF-")
    page.run("window.dispatchEvent(new Event('afterprint'))")
    assert page.run(CARDS) == 20


def test_hostile_answers_stay_text(page, tmp_path):
    path = write(world(tmp_path, hostile.ALL, lost=len(hostile.ALL), question=hostile.CLOSING))
    open_clean(page, path)
    choose(page, "change", "")
    assert page.run(CARDS) == len(hostile.ALL)
    assert page.run("window.hit === undefined && document.images.length === 0")
    shown = page.run("[...document.querySelectorAll('.raw')].map(r => r.textContent).join('\\n')")
    assert hostile.SCRIPT in shown
    assert "\u202e" not in shown
    assert "\x1b" not in shown


def test_twenty_thousand_cases_open_in_two_seconds(page, tmp_path):
    answers = [f"Answer {i} is 100 USD. " + "Because of that. " * 10 for i in range(200)]
    made = world(tmp_path, answers, lost=9, passage="Revenue grew. " * 45)
    small = view(gather(made.folder, made.root))
    many = [replace(case, id=f"{case.id}-{i:03}") for case in small.cases for i in range(100)]
    # As much text as the budget lets so many cases keep.
    path = tmp_path / "report.html"
    path.write_text(render(replace(small, cases=many)), encoding="utf-8")
    assert 20_000_000 < path.stat().st_size < 30_000_000
    # The machine has other work to do: what counts is that it can.
    assert min(open_clean(page, path) for _ in range(3)) < 2
    assert page.run(COUNT) == "900 of 20000 cases, page 1 of 45"
    assert page.run("(() => { const t = performance.now();" + SHOW_ALL + "})()") < 500


SHOW_ALL = (
    "const f = document.getElementById('f-change'); f.value = '';"
    "f.dispatchEvent(new Event('change')); return performance.now() - t;"
)

CONTRAST = r"""
(() => {
  const channel = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const c = rgb(getComputedStyle(node).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const weak = new Set();
  for (const node of document.querySelectorAll("main *")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
    if (!own || node.disabled || node.closest("svg, script, style")) continue;
    const [a, b] = [light(rgb(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.add(`${node.tagName} ${node.className} ${ratio.toFixed(2)}`);
  }
  return [...weak];
})()
"""
