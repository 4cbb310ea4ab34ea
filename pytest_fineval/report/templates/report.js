"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const EMPTY_CASE = { language: "", tags: [], where: "", must_pass: false, failure: "",
    question: "", instructions: "", passage: "", table: [], gold: [], told_before: null, others: [] };
  const EMPTY_ANSWER = { status: "", read: "", failure: "", stage: "", error: "", parts: [], how: [],
    cost_usd: 0, latency_s: 0 };
  // Empty fields are left out of the file, and filled in only for the cases that are drawn.
  const cases = data.cases;
  const PER_PAGE = 20, MOST_PRINTED = 300;
  const by = (id) => document.getElementById(id);
  const fields = ["change", "category", "status", "failure", "language", "tag"];
  let found = cases, page = 0;

  // Every text of a case enters the page through here, as text: nothing is ever parsed as HTML.
  function make(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    for (const child of children.flat()) {
      if (child !== null && child !== undefined && child !== "") node.append(child);
    }
    return node;
  }
  const tones = { lost: "bad", gained: "good", worse: "warn", better: "good", correct: "good",
    partial: "warn", wrong: "bad", errored: "bad", unscored: "bad" };
  const tag = (word) => make("span", "tag " + (tones[word] || ""), word);
  const share = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));

  function answer(title, one) {
    const box = make("div", "answer", make("h4", "", title));
    if (one === null) {
      box.append(make("p", "soft", "not kept"));
      return box;
    }
    one = { ...EMPTY_ANSWER, ...one };
    const [head, value, tail] = one.text;
    if (one.error) box.append(make("p", "bad", one.error));
    else if (!(head + value + tail).trim()) box.append(make("p", "soft", "empty answer"));
    const raw = make("pre", "raw", head, value ? make("mark", "", value) : "", tail);
    raw.tabIndex = 0;
    raw.setAttribute("aria-label", title + ": raw text");
    if (!one.error) box.append(raw);
    const meta = make("div", "meta", make("span", "", "score " + one.score.toFixed(3)));
    if (one.read) meta.append(make("span", "", "read: " + one.read));
    if (one.failure) meta.append(make("span", "bad", one.failure));
    if (one.stage) meta.append(make("span", "", "stage: " + one.stage));
    for (const [name, part] of one.parts) meta.append(make("span", "", name + ": " + part));
    if (one.cost_usd) meta.append(make("span", "", "$" + one.cost_usd.toFixed(5)));
    if (one.latency_s) meta.append(make("span", "", one.latency_s.toFixed(2) + " s"));
    box.append(meta);
    if (one.how.length) {
      const list = make("dl", "fields", one.how.map(([name, value]) => [make("dt", "", name), make("dd", "", value)]).flat());
      box.append(make("details", "how", make("summary", "", "How it was read"), list));
    }
    return box;
  }

  function evidence(one) {
    if (!one.passage && !one.table.length) return null;
    const box = make("details", "evidence", make("summary", "", "Evidence given to the model"));
    // Built when it is opened: most are not.
    box.addEventListener("toggle", () => {
      if (box.childElementCount > 1) return;
      if (one.passage) box.append(make("pre", "raw", one.passage));
      if (one.table.length) {
        const [head, ...body] = one.table;
        const table = make("table", "",
          make("thead", "", make("tr", "", head.map((cell) => make("th", "", cell)))),
          make("tbody", "", body.map((row) => make("tr", "", row.map((cell) => make("td", "", cell))))));
        box.append(make("div", "scroll", table));
      }
    });
    return box;
  }

  function others(one) {
    if (!one.others.length) return null;
    const box = make("details", "", make("summary", "", one.others.length + (one.others.length === 1 ? " further sample" : " further samples")));
    box.append(make("div", "more", one.others.map((other, i) => answer("Sample " + (i + 2), other))));
    return box;
  }

  function card(one) {
    one = { ...EMPTY_CASE, ...one };
    const title = make("h3", "", one.id);
    const head = make("header", "", tag(one.change), title, tag(one.status));
    if (one.must_pass) head.append(make("span", "tag bad", "must pass"));
    if (one.failure) head.append(make("span", "tag warn", one.failure));
    const scores = one.before === null ? "score " + share(one.after)
      : share(one.before) + " → " + share(one.after);
    const where = make("div", "where", [one.category, scores, one.scorer, one.where, ...one.tags]
      .filter(Boolean).join(" · "));
    const gold = make("p", "gold", make("b", "", "Gold "));
    gold.append(one.gold.map(([name, value]) => (name === "answer" ? value : name + ": " + value)).join(" · ") || "not shown");
    const pair = make("div", "pair", data.compared ? answer("Before (baseline)", one.told_before) : null,
      answer(data.compared ? "After (" + data.model + ")" : data.model, one.told_after));
    const box = make("article", "case", head, where,
      make("p", "question", one.question || "(the question is not here)"),
      one.instructions ? make("p", "soft", one.instructions) : null,
      gold, pair, evidence(one), others(one));
    box.setAttribute("aria-label", one.id);
    return box;
  }

  const haystacks = new Map();
  function haystack(one) {
    let text = haystacks.get(one);
    if (text === undefined) {
      const before = one.told_before ? one.told_before.text.join("") : "";
      text = [one.id, one.question || "", (one.gold || []).flat().join(" "), one.told_after.text.join(""), before]
        .join("\n").toLowerCase();
      haystacks.set(one, text);
    }
    return text;
  }

  const matches = {
    change: (one, want) => (want === "flipped" ? one.change === "lost" || one.change === "gained"
      : want === "not right" ? one.status !== "correct" : one.change === want),
    category: (one, want) => one.category === want,
    status: (one, want) => one.status === want,
    failure: (one, want) => one.failure === want,
    language: (one, want) => one.language === want,
    tag: (one, want) => (one.tags || []).includes(want),
  };

  function filter() {
    const wanted = fields.map((name) => [matches[name], by("f-" + name).value]).filter(([, v]) => v);
    const words = by("f-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    found = cases.filter((one) => wanted.every(([test, v]) => test(one, v))
      && (!words.length || words.every((word) => haystack(one).includes(word))));
    page = 0;
    draw(false);
  }

  function draw(move) {
    const pages = Math.max(1, Math.ceil(found.length / PER_PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const list = by("list");
    list.replaceChildren(...found.slice(page * PER_PAGE, (page + 1) * PER_PAGE).map(card));
    if (!found.length) list.append(make("p", "empty", "No case matches these filters."));
    by("count").textContent = `${found.length} of ${cases.length} cases, page ${page + 1} of ${pages}`;
    for (const [id, off] of [["prev", page === 0], ["prev2", page === 0],
      ["next", page === pages - 1], ["next2", page === pages - 1]]) by(id).disabled = off;
    by("foot").hidden = pages === 1;
    if (move) {
      by("cases").scrollIntoView();
      list.focus({ preventScroll: true });
    }
  }

  const turn = (step) => () => { page += step; draw(true); };
  by("prev").addEventListener("click", turn(-1));
  by("prev2").addEventListener("click", turn(-1));
  by("next").addEventListener("click", turn(1));
  by("next2").addEventListener("click", turn(1));
  for (const name of fields) by("f-" + name).addEventListener("change", filter);
  let waiting;
  by("f-search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 150);
  });
  by("reset").addEventListener("click", () => {
    for (const name of fields) by("f-" + name).value = "";
    by("f-search").value = "";
    filter();
  });
  window.addEventListener("beforeprint", () => {
    by("list").replaceChildren(...found.slice(0, MOST_PRINTED).map(card));
  });
  window.addEventListener("afterprint", () => draw(false));
  filter();
  document.documentElement.dataset.ready = "yes";
})();
