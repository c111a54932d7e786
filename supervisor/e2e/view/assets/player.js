"use strict";
// Plays a recording that was made into frames of changed rows. All text is set through textContent, all colours are
// checked: nothing that a program printed becomes markup or style.

const FEW_SCREENS = 8; // so many are drawn at once
const MOST_SCREENS = 60;
const A_STEP = 5; // seconds
let playing = null;

function make(tag, { text, className, ...rest } = {}, ...children) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  for (const [name, value] of Object.entries(rest)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter(Boolean));
  return element;
}

const clock = (value) => `${Math.floor(value / 60)}:${(value % 60).toFixed(1).padStart(4, "0")}`;

function styled(runs, into) {
  for (const [text, front, back, flags] of runs) {
    const span = make("span", { text });
    if (/^#[0-9a-f]{6}$/.test(front)) span.style.color = front;
    if (/^#[0-9a-f]{6}$/.test(back)) span.style.backgroundColor = back;
    for (const bit of [1, 2, 4, 8, 16, 32]) if (flags & bit) span.classList.add("f" + bit);
    into.append(span);
  }
  return into;
}

const stepText = (kind, text) => (kind === "i" ? "⌨ " + JSON.stringify(text).slice(1, -1) : "◆ " + text);

class Player {
  constructor(cast) {
    this.cast = cast;
    this.start = cast.start || 0;
    this.time = 0;
    this.position = -1;
    this.rows = [];
    this.shown = [];
    this.timer = null;
    this.moved = () => {}; // told of the time, in seconds since the start of the test
    this.element = make("div", { className: "player" }, make("h3", { text: cast.error ? `${cast.name}: ${cast.error}` : `${cast.title || cast.name}` }));
    if (!cast.error) this.build();
  }

  build() {
    this.term = make("div", { className: "term" });
    // A narrow screen shows what is ever written as large as it can, not the empty rest of a wide terminal.
    const widths = this.cast.rows.map((runs) => runs.reduce((sum, run) => sum + run[0].length, 0));
    this.used = widths.reduce((most, width) => Math.max(most, 1 + width), 24);
    this.button = make("button", { type: "button", className: "play", text: "▶ play", onclick: () => (this.timer ? this.stop() : this.play()) });
    this.range = make("input", { type: "range", min: 0, max: 1000, value: 0, "aria-label": "time", "aria-valuetext": "", oninput: () => this.seek((this.range.value / 1000) * this.cast.duration) });
    this.label = make("span", { className: "clock" });
    this.speed = make("button", { type: "button", text: "1×", "aria-label": "speed 1×", onclick: () => this.faster() });
    this.element.append(
      make("div", { className: "window", tabindex: 0, role: "region", "aria-label": "terminal", onkeydown: (event) => this.key(event) }, this.term),
      make("div", { className: "bar-row" }, this.button, this.range, this.label, this.speed),
    );
    this.steps = this.cast.markers.map(([at, kind, text]) => {
      const step = make("button", { type: "button", className: "step", text: stepText(kind, text), onclick: () => this.seek(at) });
      step.dataset.at = at;
      return step;
    });
    if (this.steps.length) this.element.append(make("div", { className: "steps" }, ...this.steps));
    this.element.append(this.screens());
    if (this.cast.is_cut) this.element.append(make("p", { className: "facts", text: "Only the beginning of this long recording is shown." }));
    this.seek(this.cast.duration, false, true);
  }

  // What was on the screen at each step, and at the end: to be read without playing. Drawn when they are looked at.
  screens() {
    const times = [...this.cast.markers.map(([at, kind, text]) => [at, stepText(kind, text)]), [this.cast.duration, "at the end"]];
    const grid = make("div", { className: "screens" });
    const draw = () => {
      if (grid.hasChildNodes()) return;
      for (const [at, text] of times.slice(-MOST_SCREENS)) {
        const figure = make("figure", { onclick: () => this.seek(at, true) }, make("figcaption", { text: `${clock(at)} ${text}` }), this.screenAt(at));
        grid.append(figure);
      }
    };
    const box = make("details", { ontoggle: draw }, make("summary", { text: times.length === 1 ? "1 screen" : `${times.length} screens, one for each step` }), grid);
    if (times.length <= FEW_SCREENS) {
      box.open = true;
      draw();
    }
    return box;
  }

  screenAt(time) {
    const rows = [];
    for (const each of this.cast.frames) {
      if (each[0] > time + 0.0005) break;
      for (const [line, row] of Object.entries(each[1])) rows[line] = row;
    }
    const term = make("div", { className: "term still" });
    term.style.setProperty("--columns", this.used);
    const used = rows.map((row) => (this.cast.rows[row] || []).length > 0).lastIndexOf(true) + 1;
    for (let number = 0; number < Math.max(used, 1); number += 1) {
      term.append(styled(this.cast.rows[rows[number]] || [], make("div", { className: "row" })));
    }
    return make("div", { className: "window", tabindex: 0, role: "group", "aria-label": `screen at ${clock(time)}` }, term);
  }

  // Space plays and stops, the arrows go back and on: also where only the terminal has the focus.
  key(event) {
    const does = {
      " ": () => (this.timer ? this.stop() : this.play()),
      ArrowLeft: () => this.seek(this.time - A_STEP),
      ArrowRight: () => this.seek(this.time + A_STEP),
      Home: () => this.seek(0),
      End: () => this.seek(this.cast.duration),
    }[event.key];
    if (!does || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    does();
  }

  faster() {
    this.speed.textContent = { "1×": "2×", "2×": "4×", "4×": "1×" }[this.speed.textContent];
    this.speed.setAttribute("aria-label", `speed ${this.speed.textContent}`);
  }

  covers(time) {
    return !this.cast.error && time >= this.start && time <= this.start + this.cast.duration;
  }

  // Frames hold what changed, so going back starts over; thousands of frames are a few milliseconds.
  seek(time, isJump = false, isQuiet = false) {
    this.time = Math.min(Math.max(time, 0), this.cast.duration);
    const frames = this.cast.frames;
    if (this.position >= 0 && frames[this.position][0] > this.time) {
      this.position = -1;
      this.rows = [];
    }
    while (this.position + 1 < frames.length && frames[this.position + 1][0] <= this.time) {
      this.position += 1;
      for (const [line, row] of Object.entries(frames[this.position][1])) this.rows[line] = row;
    }
    this.draw();
    if (isJump) this.element.scrollIntoView({ block: "nearest" });
    if (!isQuiet) this.highlight();
  }

  draw() {
    const frame = this.cast.frames[Math.max(this.position, 0)];
    if (!frame) return;
    const [line, column, isShown] = frame[2];
    const columns = frame[3][0];
    const lines = Math.min(frame[3][1], this.cast.height);
    this.term.style.minWidth = columns + "ch";
    this.term.style.setProperty("--columns", this.used);
    while (this.term.children.length < lines) this.term.append(make("div", { className: "row" }));
    while (this.term.children.length > lines) this.term.lastChild.remove();
    for (let number = 0; number < lines; number += 1) {
      const hasCursor = isShown && number === line;
      const look = `${this.rows[number]}:${hasCursor ? column : ""}`;
      if (this.shown[number] === look && this.term.children[number].hasChildNodes()) continue;
      this.shown[number] = look;
      const runs = this.cast.rows[this.rows[number]] || [];
      this.term.children[number].replaceChildren();
      styled(hasCursor ? withCursor(runs, column) : runs, this.term.children[number]);
      if (hasCursor) this.term.children[number].querySelector(".f32")?.classList.add("cursor");
    }
    this.label.textContent = `${clock(this.time)} / ${clock(this.cast.duration)}`;
    this.range.setAttribute("aria-valuetext", this.label.textContent);
    this.range.value = this.cast.duration ? Math.round((1000 * this.time) / this.cast.duration) : 0;
  }

  highlight() {
    this.moved(this.start + this.time + 0.005);
    const step = this.steps.filter((each) => Number(each.dataset.at) <= this.time + 0.005).pop();
    for (const each of this.steps) each.classList.toggle("now", each === step);
  }

  play() {
    playing?.stop();
    playing = this;
    if (this.time >= this.cast.duration) this.seek(0);
    let last = performance.now();
    this.button.textContent = "❚❚ pause";
    this.timer = setInterval(() => {
      const now = performance.now();
      this.seek(this.time + ((now - last) / 1000) * parseInt(this.speed.textContent, 10));
      last = now;
      if (this.time >= this.cast.duration) this.stop();
    }, 40);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    if (this.button) this.button.textContent = "▶ play";
  }
}

function withCursor(runs, column) {
  const characters = [];
  for (const [text, front, back, flags] of runs) for (const each of text) characters.push([each, front, back, flags]);
  while (characters.length <= column) characters.push([" ", "", "", 0]);
  characters[column] = [characters[column][0], "", "", characters[column][3] | 32];
  return characters;
}
