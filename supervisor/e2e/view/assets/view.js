"use strict";

const index = JSON.parse(document.getElementById("index").textContent);
const BAD = new Set(["failed", "error", "killed", "xpassed"]);
const nav = document.querySelector("nav");
const panel = document.getElementById("detail");
const filters = new Set();
const isNarrow = matchMedia("(max-width: 800px)");
let lastAsked = null;

const seconds = (value) => (value < 10 ? value.toFixed(2) : value.toFixed(1)) + " s";

// --- the list of blocks and tests ----------------------------------------------------------------------------------
const limits = index.tests.map((test) => test.seconds).sort((a, b) => a - b);
const slow = Math.max(1, limits[Math.floor(limits.length * 0.9)] || 0);

const changed = (test) =>
  index.compare !== null && (!test.was || test.was.status !== test.status || test.seconds > 2 * test.was.seconds + 0.5);
const keeps = {
  failed: (test) => BAD.has(test.status),
  skipped: (test) => test.status === "skipped",
  slow: (test) => test.seconds >= slow,
  unhappy: (test) => test.unhappy,
  changed,
};

function testButton(number) {
  const test = index.tests[number];
  const was = test.was && test.was.status !== test.status ? `was ${test.was.status}` : index.compare && !test.was ? "new" : null;
  return make(
    "button",
    { type: "button", className: "test", "data-test": number, onclick: () => open(number), title: test.nodeid },
    make("span", { className: "dot " + test.status.replace(/[^a-z]/g, "") }),
    make("span", { className: "name", text: test.nodeid.split("::").slice(1).join("::") || test.nodeid }),
    was && make("span", { className: "tag", text: was }),
    test.status !== "skipped" && make("span", { className: "tag", text: test.unhappy ? "unhappy" : "happy" }),
    test.attempts > 1 && make("span", { className: "tag", text: test.attempts + " attempts" }),
    test.casts > 0 && make("span", { className: "tag", text: "▶ " + test.casts }),
    (BAD.has(test.status) || test.status === "skipped") && make("span", { className: "tag", text: test.status }),
    make("span", { className: "time", text: seconds(test.seconds) }),
  );
}

function code(text) {
  const pre = make("pre");
  for (const line of text.split("\n")) {
    pre.append(make("span", { text: line + "\n", className: line.trimStart().startsWith("#") ? "c" : "" }));
  }
  return pre;
}

function blockCard(group) {
  const where = group.line ? `lines ${group.line}–${group.end_line}` : "";
  const none = group.waiver ? `not tested: ${group.waiver}` : "no test cites this block";
  return make(
    "div",
    { className: "block" + (group.tests.length ? "" : " uncited"), "data-block": group.id },
    make("span", { className: "where", text: where }),
    code(group.text),
    ...group.tests.map(testButton),
    !group.tests.length && make("p", { className: "none", text: none }),
  );
}

function plainCard(numbers) {
  return make("div", { className: "block plain" }, ...numbers.map(testButton));
}

function list() {
  let section = null;
  for (const group of index.groups) {
    const title = group.section.join(" › ");
    if (title !== section && title) nav.append(make("h2", { text: title }));
    section = title;
    nav.append(blockCard(group));
  }
  const rest = [
    ["Tests that cite no block", index.uncited],
    ["Tests that cite what is not in the tutorial", index.stale],
  ];
  for (const [title, numbers] of rest) {
    if (numbers.length) nav.append(make("h2", { text: title }), plainCard(numbers));
  }
  if (index.gone.length) {
    nav.append(make("h2", { text: `Only in ${index.compare}` }));
    nav.append(make("div", { className: "block" }, ...index.gone.map((test) => make("p", { className: "none", text: test.nodeid }))));
  }
}

function refresh() {
  const words = document.getElementById("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = [...filters].filter((name) => name !== "uncited");
  for (const card of nav.querySelectorAll(".block")) {
    const blockText = (card.querySelector("pre")?.textContent || "").toLowerCase();
    const isUncited = card.classList.contains("uncited") || card.classList.contains("plain");
    let shown = 0;
    for (const button of card.querySelectorAll(".test")) {
      const test = index.tests[Number(button.dataset.test)];
      const text = test.nodeid.toLowerCase() + " " + blockText;
      button.hidden = !(words.every((word) => text.includes(word)) && wanted.every((name) => keeps[name](test)));
      shown += button.hidden ? 0 : 1;
    }
    const matchesAlone = !wanted.length && words.every((word) => blockText.includes(word));
    card.hidden = (filters.has("uncited") && !isUncited) || (!shown && !matchesAlone);
  }
  for (const heading of nav.querySelectorAll("h2")) {
    let next = heading.nextElementSibling;
    while (next && next.tagName !== "H2" && next.hidden) next = next.nextElementSibling;
    heading.hidden = !next || next.tagName === "H2";
  }
}

// --- one test ------------------------------------------------------------------------------------------------------
async function unpack(number) {
  const text = document.getElementById("detail-" + number).textContent;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

async function open(number, which = 0) {
  const asked = (lastAsked = {});
  const attempts = await unpack(number);
  if (asked !== lastAsked) return; // somebody has chosen another one meanwhile
  const test = index.tests[number];
  const attempt = attempts[which] || attempts[0];
  playing?.stop();
  for (const button of nav.querySelectorAll(".test")) {
    button.setAttribute("aria-current", String(Number(button.dataset.test) === number));
  }
  const hash = "#" + encodeURIComponent(test.nodeid);
  if (location.hash !== hash) history.replaceState(null, "", hash);
  document.body.classList.add("open"); // on a narrow screen the test takes the place of the list
  const tabs = attempts.map((each, position) =>
    make("button", {
      type: "button",
      text: `${each.label}: ${each.status}`,
      "aria-pressed": String(position === which),
      onclick: () => open(number, position),
    }),
  );
  const players = attempt.casts.map((cast) => new Player(cast));
  for (const player of players) player.moved = highlight;
  const transcript = make("div", { className: "transcript" }, ...attempt.commands.map((each) => commandCard(each, attempt, players)));
  if (!attempt.commands.length) transcript.append(make("p", { className: "hint", text: "No command was run." }));
  const missing = !index.can_film && test.casts > 0;
  const parts = [
    make("button", { type: "button", className: "back", text: "‹ all tests", onclick: close }),
    make("h2", { text: test.nodeid }),
    make(
      "p",
      { className: "facts" },
      make("b", { text: attempt.status, className: attempt.status.replace(/[^a-z]/g, "") }),
      make("span", { text: ` · ${seconds(attempt.seconds)} · ${attempt.location}` }),
    ),
    tabs.length > 1 && make("div", { className: "tabs" }, ...tabs),
    attempt.message && make("pre", { className: attempt.status === "skipped" ? "error skipped" : "error", text: attempt.message }),
    attempt.error.trim() !== attempt.message && whole("where it failed", attempt.error),
    attempt.docstring && make("pre", { className: "doc", text: attempt.docstring.trim() }),
    ...attempt.notes.map((note) => make("p", { className: "facts", text: note })),
    missing && make("p", { className: "error", text: "Its recordings are not shown: the page was made without pyte." }),
    make(
      "div",
      { className: "beside" + (players.length ? " two" : "") },
      transcript,
      players.length > 0 && make("div", { className: "players" }, ...players.map((player) => player.element)),
    ),
  ];
  panel.replaceChildren(...parts.filter(Boolean));
  panel.scrollTop = 0;
  if (isNarrow.matches) window.scrollTo(0, 0);
}

// What the transcript says at the time of a recording.
function highlight(now) {
  const timed = [...panel.querySelectorAll(".transcript [data-at]")];
  const current = timed.filter((each) => Number(each.dataset.at) <= now).pop();
  for (const each of timed) each.classList.toggle("now", each === current);
  current?.scrollIntoView({ block: "nearest" });
}

function close() {
  playing?.stop();
  document.body.classList.remove("open");
  nav.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "center" });
}

function whole(title, text) {
  return make("details", { className: "whole" }, make("summary", { text: title }), make("pre", { text }));
}

function commandCard(command, attempt, players) {
  const end = command.end;
  const own = end && players.find((player) => player.cast.name === end.cast);
  const show = (time) => {
    const player = own || players.find((each) => each.covers(time));
    player?.seek(time - player.start, true);
  };
  const line = make("button", { type: "button", className: "line", text: command.command, onclick: () => show(command.at) });
  line.dataset.at = command.at;
  const out = make("pre", { className: "out" });
  for (const [kind, at, runs] of command.pieces) {
    const piece = styled(runs, make("span", { className: "piece " + kind, onclick: () => show(command.at + at) }));
    piece.dataset.at = command.at + at;
    out.append(piece);
  }
  return make(
    "div",
    { className: "command" },
    command.comment && make("div", { className: "said", text: "# " + command.comment }),
    line,
    out,
    endRow(command, attempt),
  );
}

function endRow(command, attempt) {
  const end = command.end;
  if (!end) return make("div", { className: "end" }, make("span", { className: "bad", text: "never ended: the test was killed" }));
  const how = end.timed_out ? "timed out" : end.signal || `exit ${end.exit_code}`;
  const bar = make("i");
  const whole = Math.max(attempt.seconds, command.at + end.seconds, 0.001);
  bar.style.left = (100 * command.at) / whole + "%";
  bar.style.width = (100 * end.seconds) / whole + "%";
  return make(
    "div",
    { className: "end" },
    make("span", { text: how, className: end.exit_code ? "bad" : "" }),
    make("span", { text: seconds(end.seconds) }),
    leftBehind(end.background),
    make("span", { className: "bar" }, bar),
  );
}

function leftBehind(processes) {
  if (!processes.length) return null;
  const said = processes.length === 1 ? "1 process outlived it" : `${processes.length} processes outlived it`;
  return make(
    "details",
    {},
    make("summary", { className: "bad", text: said }),
    ...processes.map((each) => make("pre", { text: each })),
  );
}

// --- start ---------------------------------------------------------------------------------------------------------
function begin() {
  document.querySelector("h1").textContent = index.run;
  const bad = index.tests.filter((test) => BAD.has(test.status)).length;
  const skipped = index.tests.filter((test) => test.status === "skipped").length;
  const uncited = index.groups.filter((group) => !group.tests.length).length;
  const total = index.tests.reduce((sum, test) => sum + test.seconds, 0);
  const parts = [
    index.tests.length === 1 ? "1 test" : `${index.tests.length} tests`,
    bad ? `${bad} failed` : "none failed",
    index.groups.length === 1 ? "1 block" : `${index.groups.length} blocks`,
    skipped ? `${skipped} skipped` : "",
    uncited ? `${uncited} without a test` : "",
    seconds(total),
  ];
  if (index.unreadable.length) parts.push(`${index.unreadable.length} unreadable results`);
  if (index.compare !== null) parts.push(`compared with ${index.compare}: ${index.tests.filter(changed).length} changed, ${index.gone.length} gone`);
  document.querySelector(".totals").textContent = parts.filter(Boolean).join(" · ");
  document.querySelector('[data-filter="changed"]').hidden = index.compare === null;
  list();
  for (const button of document.querySelectorAll("[data-filter]")) {
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      const name = button.dataset.filter;
      if (!filters.delete(name)) filters.add(name);
      button.setAttribute("aria-pressed", String(filters.has(name)));
      refresh();
    });
  }
  document.getElementById("search").addEventListener("input", refresh);
  const asked = decodeURIComponent(location.hash.slice(1));
  const number = index.tests.findIndex((test) => test.nodeid === asked);
  if (number >= 0) return open(number);
  const first = [...nav.querySelectorAll(".test")].find((button) => BAD.has(index.tests[Number(button.dataset.test)].status));
  if (first) {
    first.scrollIntoView({ block: "center" });
    open(Number(first.dataset.test));
  }
}

begin();
