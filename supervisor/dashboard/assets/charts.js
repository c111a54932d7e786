// What a batch used and brought over time. Asked again while somebody looks, and only then.
"use strict";
(() => {
  const section = document.querySelector(".charts");
  if (!section) return;
  const EVERY = 10000, HEIGHT = 96;
  const charts = new Map();
  const short = (n) => (n >= 1e9 ? `${+(n / 1e9).toPrecision(3)}G` : n >= 1e6 ? `${+(n / 1e6).toPrecision(3)}M`
    : n >= 1e4 ? `${+(n / 1e3).toPrecision(3)}k` : Math.round(n).toLocaleString("en"));

  const zone = { hour: "2-digit", minute: "2-digit", hour12: false };
  const clock = (at) => new Intl.DateTimeFormat([], zone).format(new Date(at * 1000));

  // Jobs that ended in the hour before each moment, by what had ended until then.
  function pace({ at, ended }) {
    let from = 0;
    return at.map((now, here) => {
      while (at[from] < now - 3600) from++;
      const seconds = Math.max(60, Math.min(3600, now - at[0]));
      return ((ended[here] - (from ? ended[from - 1] : 0)) * 3600) / seconds;
    });
  }

  function options(element, colour, limit, stepped) {
    const style = getComputedStyle(document.documentElement);
    const soft = style.getPropertyValue("--soft").trim(), line = style.getPropertyValue("--line").trim();
    const ink = style.getPropertyValue(colour).trim();
    const axis = { stroke: soft, font: "11px system-ui", grid: { stroke: line, width: 1 }, ticks: { show: false } };
    const steps = stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {};
    const series = [{}, { stroke: ink, width: 1.5, fill: ink + "22", points: { show: false }, ...steps }];
    if (limit) series.push({ stroke: soft, width: 1, dash: [4, 4], points: { show: false } });
    return {
      width: element.clientWidth || 200, height: HEIGHT, padding: [6, 4, 0, 0], legend: { show: false }, series,
      cursor: { show: false }, scales: { y: { range: (u, low, high) => [0, Math.max(1, high * 1.08)] } },
      axes: [{ ...axis, size: 18, space: 70, grid: { show: false }, values: (u, ticks) => ticks.map(clock) },
        { ...axis, size: 38, space: 32, gap: 2, values: (u, ticks) => ticks.map(short) }],
    };
  }

  function show(name, columns, colour, limit, now, stepped = true) {
    section.querySelector(`[data-now="${name}"]`).textContent = now;
    const element = section.querySelector(`[data-chart="${name}"]`);
    element.setAttribute("aria-label", `${element.closest("figure").querySelector("figcaption").textContent}, over time`);
    const data = limit ? [...columns, columns[0].map(() => limit)] : columns;
    const known = charts.get(name);
    if (known && known.series.length === data.length) return known.setData(data);
    known?.destroy();
    charts.set(name, new uPlot(options(element, colour, limit, stepped), data, element));
  }

  async function look() {
    const answer = await fetch(`/batches/${section.dataset.batch}/series`, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const told = await answer.json();
    if (!told.at.length) return;
    // What was true last is true now.
    const now = Date.now() / 1000;
    if (now > told.at.at(-1) + 5 && now < told.at.at(-1) + 3600) {
      for (const name of ["agents", "checks", "ended", "tokens"]) told[name].push(told[name].at(-1));
      told.at.push(now);
    }
    const budget = Number(section.dataset.budget), speed = pace(told);
    const of = (n, most) => (most ? `${short(n)} of ${short(most)}` : short(n));
    show("agents", [told.at, told.agents], "--cell-work", told.slots, of(told.agents.at(-1), told.slots));
    show("checks", [told.at, told.checks], "--cell-check", told.verify_slots, of(told.checks.at(-1), told.verify_slots));
    show("pace", [told.at, speed], "--cell-good", 0, short(speed.at(-1)), false);
    show("tokens", [told.at, told.tokens], "--accent", budget, of(told.tokens.at(-1), budget), false);
  }

  function again() {
    if (!document.hidden) look().catch(() => {});
  }

  new ResizeObserver(() => {
    for (const [name, chart] of charts) {
      const width = section.querySelector(`[data-chart="${name}"]`).clientWidth;
      if (Math.abs(width - chart.width) > 1) chart.setSize({ width, height: HEIGHT });
    }
  }).observe(section);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const chart of charts.values()) chart.destroy();
    charts.clear();
    again();
  });
  document.addEventListener("visibilitychange", again);
  setInterval(again, EVERY);
  again();
})();
