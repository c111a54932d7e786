// <job-grid>: every job as a cell, grouped by stage. Cells are drawn on one canvas for each stage, so ten thousand of
// them cost the page nothing to lay out. Colour, shape and mark say the same three times.
"use strict";
(() => {
  // Of each kind: the colour's name in the style sheet, how it is filled, and its mark.
  const LOOKS = {
    P: ["wait", "full", "!"], B: ["blocked", "full", "-"], X: ["bad", "full", "x"], Y: ["flaky", "full", "~"],
    L: ["bad", "open", "x"], w: ["work", "full", ""], h: ["wait", "open", "~"], l: ["work", "half", ""], v: ["check", "full", "o"],
    c: ["check", "open", "."], F: ["good", "full", "v"], I: ["better", "full", "^"], C: ["good", "open", "."],
    S: ["good", "half", "v"], q: ["idle", "open", ""], s: ["idle", "half", ""], K: ["idle", "full", "/"],
  };
  // The side of a cell with its gap: the largest with which a stage is not too high. Jobs that wait get less room.
  const PITCHES = [22, 18, 15, 12, 10, 8, 6, 5, 4];
  const HEIGHTS = { qs: 120, K: 70 }, HIGHEST = 170;
  const MOST = 20000;

  function mark(context, sign, size) {
    const [low, mid, high] = [size * 0.26, size * 0.5, size * 0.74];
    context.beginPath();
    const line = (...points) => points.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
    if (sign === "x") { line([low, low], [high, high]); line([high, low], [low, high]); }
    if (sign === "v") line([low, mid], [size * 0.44, high * 0.95], [high, low * 1.1]);
    if (sign === "^") line([low, size * 0.62], [mid, low * 1.2], [high, size * 0.62]);
    if (sign === "-") line([low, mid], [high, mid]);
    if (sign === "/") line([low, high], [high, low]);
    if (sign === "~") line([low, size * 0.6], [size * 0.4, size * 0.4], [size * 0.6, size * 0.6], [high, size * 0.4]);
    if (sign === "!") { line([mid, low], [mid, size * 0.56]); line([mid, size * 0.7], [mid, high]); }
    if (sign === "o") context.arc(mid, mid, size * 0.2, 0, 7);
    if (sign === ".") context.arc(mid, mid, size * 0.08, 0, 7);
    context.stroke();
  }

  // One cell of a kind, drawn once and copied from then on.
  function tile(letter, size, ratio, styles) {
    const [name, fill, sign] = LOOKS[letter];
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = Math.round(size * ratio);
    const context = canvas.getContext("2d");
    context.scale(canvas.width / size, canvas.width / size);
    const colour = styles.getPropertyValue(`--cell-${name}`).trim();
    const ink = fill === "full" ? styles.getPropertyValue("--cell-ink").trim() : colour;
    const inset = fill === "full" ? 0 : Math.max(0.5, size * 0.05);
    context.beginPath();
    context.roundRect(inset, inset, size - 2 * inset, size - 2 * inset, size * 0.2);
    context.fillStyle = context.strokeStyle = colour;
    context.lineWidth = Math.max(1, size * 0.1);
    if (fill === "full") context.fill(); else context.stroke();
    if (fill === "half") context.fillRect(0, size / 2, size, size / 2);
    context.strokeStyle = ink;
    context.lineWidth = Math.max(1, size * 0.13);
    context.lineCap = context.lineJoin = "round";
    if (sign && size >= 6) mark(context, sign, size);
    return canvas;
  }

  class JobGrid extends HTMLElement {
    connectedCallback() {
      this.cells = [...this.dataset.cells];
      this.batch = this.dataset.batch;
      this.removeAttribute("data-cells");
      this.stages = [...this.querySelectorAll(".stage")].map((element) => this.stage(element));
      this.setAttribute("role", "application");
      this.setAttribute("aria-label", "Jobs by stage. Arrow keys go from job to job, Page Up and Page Down from stage " +
        "to stage, Enter opens a job.");
      this.setAttribute("aria-controls", "peek");
      this.tabIndex = 0;
      this.chosen = null;
      this.addEventListener("keydown", (event) => this.pressed(event));
      this.addEventListener("focus", () => { if (this.chosen === null) this.choose(this.first()); });
      new ResizeObserver(() => this.due()).observe(this);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
      this.group();
      this.repaint();
    }

    stage(element) {
      const canvas = element.querySelector(".field");
      const stage = { element, canvas, letters: element.dataset.letters, jobs: [], columns: 1, pitch: 16 };
      canvas.addEventListener("pointermove", (event) => this.choose(this.at(stage, event)));
      canvas.addEventListener("click", (event) => {
        const job = this.at(stage, event);
        this.choose(job);
        if (job !== null && event.detail && matchMedia("(hover: hover)").matches) this.open(job);
      });
      return stage;
    }

    // --- what there is

    all(cells) { this.cells = [...cells]; this.group(); this.due(); }

    changed(pairs) {
      for (const [number, letter] of pairs) this.cells[number - 1] = letter;
      this.group();
      this.due();
    }

    group() {
      const counts = {};
      const of = {};
      for (const stage of this.stages) { stage.jobs = []; for (const letter of stage.letters) of[letter] = stage; }
      this.cells.forEach((letter, at) => { counts[letter] = (counts[letter] ?? 0) + 1; of[letter].jobs.push(at + 1); });
      for (const stage of this.stages) {
        // Within a stage, kinds stand together in the order of its list.
        if (stage.letters.length > 1) {
          stage.jobs.sort((a, b) => stage.letters.indexOf(this.cells[a - 1]) - stage.letters.indexOf(this.cells[b - 1]) || a - b);
        }
        stage.element.hidden = !stage.jobs.length;
        stage.element.querySelector(".total").textContent = stage.jobs.length.toLocaleString("en");
        for (const row of stage.element.querySelectorAll("[data-letter]")) {
          const count = counts[row.dataset.letter] ?? 0;
          row.hidden = !count;
          row.querySelector("b").textContent = count.toLocaleString("en");
        }
      }
    }

    // --- drawing

    repaint() {
      this.tiles = new Map();
      this.styles = getComputedStyle(this);
      for (const key of this.querySelectorAll(".key")) {
        const ratio = devicePixelRatio || 1;
        key.width = key.height = 13 * ratio;
        key.getContext("2d").drawImage(this.tile(key.closest("[data-letter]").dataset.letter, 13), 0, 0);
      }
      this.draw();
    }

    tile(letter, size) {
      const name = letter + size;
      if (!this.tiles.has(name)) this.tiles.set(name, tile(letter, size, devicePixelRatio || 1, this.styles));
      return this.tiles.get(name);
    }

    due() {
      if (this.drawing) return;
      this.drawing = requestAnimationFrame(() => { this.drawing = 0; this.draw(); });
    }

    draw() { for (const stage of this.stages) if (!stage.element.hidden) this.drawStage(stage); }

    drawStage(stage) {
      const ratio = devicePixelRatio || 1;
      const width = this.clientWidth;
      const shown = Math.min(stage.jobs.length, MOST);
      const highest = HEIGHTS[stage.letters] ?? HIGHEST;
      const fits = (pitch) => Math.ceil(shown / Math.floor((width + 2) / pitch)) * pitch <= highest;
      stage.pitch = PITCHES.find(fits) ?? PITCHES.at(-1);
      stage.columns = Math.max(1, Math.floor((width + 2) / stage.pitch));
      const height = Math.ceil(shown / stage.columns) * stage.pitch;
      const canvas = stage.canvas;
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
      }
      const context = canvas.getContext("2d");
      context.clearRect(0, 0, canvas.width, canvas.height);
      const side = stage.pitch - (stage.pitch > 11 ? 3 : stage.pitch > 6 ? 2 : 1);
      for (let at = 0; at < shown; at++) {
        const [x, y] = [(at % stage.columns) * stage.pitch, Math.floor(at / stage.columns) * stage.pitch];
        const job = stage.jobs[at];
        context.drawImage(this.tile(this.cells[job - 1], side), Math.round(x * ratio), Math.round(y * ratio));
        if (job === this.chosen) this.ring(context, x, y, side, ratio);
      }
    }

    ring(context, x, y, side, ratio) {
      context.save();
      context.scale(ratio, ratio);
      context.strokeStyle = this.styles.getPropertyValue("--ink").trim();
      context.lineWidth = 2;
      context.strokeRect(Math.max(1, x), Math.max(1, y), side - 1, side - 1);
      context.restore();
    }

    // --- choosing

    at(stage, event) {
      const box = stage.canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left) / stage.pitch);
      const row = Math.floor((event.clientY - box.top) / stage.pitch);
      if (column < 0 || column >= stage.columns || row < 0) return null;
      return stage.jobs[row * stage.columns + column] ?? null;
    }

    first() { return this.shown()[0]?.jobs[0] ?? null; }

    shown() { return this.stages.filter((stage) => stage.jobs.length); }

    choose(job) {
      if (job === null || job === undefined || job === this.chosen) return;
      this.chosen = job;
      this.due();
      clearTimeout(this.asking);
      this.asking = setTimeout(() => {
        htmx.ajax("GET", `/jobs/${this.batch}.${job}/peek`, { target: "#peek", swap: "innerHTML" });
      }, 90);
    }

    open(job) { location.href = `/jobs/${this.batch}.${job}`; }

    pressed(event) {
      if (event.target !== this || event.ctrlKey || event.metaKey || event.altKey) return;
      const stages = this.shown();
      let stage = stages.findIndex((each) => each.jobs.includes(this.chosen));
      if (stage < 0) { this.choose(this.first()); stage = 0; }
      const { jobs, columns } = stages[stage];
      const at = jobs.indexOf(this.chosen);
      const next = stages[Math.min(stage + 1, stages.length - 1)], before = stages[Math.max(stage - 1, 0)];
      const moves = {
        ArrowRight: () => jobs[at + 1] ?? next.jobs[0],
        ArrowLeft: () => (at ? jobs[at - 1] : before.jobs.at(-1)),
        ArrowDown: () => jobs[at + columns] ?? next.jobs[0],
        ArrowUp: () => (at >= columns ? jobs[at - columns] : before.jobs.at(-1)),
        Home: () => jobs[0], End: () => jobs.at(-1),
        PageDown: () => next.jobs[0], PageUp: () => before.jobs[0],
      };
      if (event.key === "Enter" && this.chosen !== null) return this.open(this.chosen);
      if (!(event.key in moves)) return;
      event.preventDefault();
      this.choose(moves[event.key]());
    }
  }

  customElements.define("job-grid", JobGrid);
})();
