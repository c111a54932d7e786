// The page as it changes: what the daemon's stream says goes to the grid, and a lost connection is told.
"use strict";
(() => {
  const MOST_HAPPENED = 15, MOST_LOG = 2000;
  const connection = document.getElementById("connection");
  const live = document.querySelector("[hx-sse\\:connect]");
  const grid = document.querySelector("job-grid");

  // --- times in the reader's own zone

  const today = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", hour12: false });
  const other = new Intl.DateTimeFormat([], { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false });

  function times(root) {
    for (const each of root.querySelectorAll("time[datetime]")) {
      const at = new Date(each.dateTime);
      const text = (at.toDateString() === new Date().toDateString() ? today : other).format(at);
      if (each.textContent !== text) each.textContent = text;
      each.title = each.dateTime;
    }
  }
  times(document);
  document.addEventListener("htmx:after:swap", () => {
    times(document);
    const list = document.getElementById("happened");
    while (list && list.children.length > MOST_HAPPENED) list.lastElementChild.remove();
    const log = document.getElementById("log");
    while (log && log.children.length > MOST_LOG) log.firstElementChild.remove();
    if (log && isAtEnd) log.scrollTop = log.scrollHeight;
  });

  // --- a log stays at its end, unless somebody has gone up in it

  let isAtEnd = true;
  const log = document.getElementById("log");
  log?.addEventListener("scroll", () => { isAtEnd = log.scrollTop + log.clientHeight > log.scrollHeight - 24; });

  // --- the connection

  if (!live || !connection) return;
  let lost = false, over = false;
  const say = (words, mood) => { connection.textContent = words; connection.className = mood; };
  const hold = () => { if (!over) { lost = true; say("Connection lost. Trying again…", "lost"); } };
  const back = () => { say(lost ? "Live again, nothing missed" : "Live", "live"); lost = false; };

  live.addEventListener("htmx:sse:after:connection", back);
  live.addEventListener("htmx:sse:error", (event) => {
    if (event.detail.status === 401) return say("Your session has ended. Run supervisorctl dashboard.", "lost");
    hold();
  });
  live.addEventListener("htmx:sse:before:connection", (event) => { if (event.detail.connection.attempt > 0) hold(); });
  // The first connection of a page is not tried again by htmx.
  live.addEventListener("htmx:error", () => { if (!live._htmx?.sse) { hold(); setTimeout(() => location.reload(), 3000); } });
  live.addEventListener("over", () => {
    over = true;
    say("", "");
    if (grid) location.href = `/batches/${live.dataset.batch}`;
  });

  live.addEventListener("cells", (event) => grid?.changed(JSON.parse(event.detail.data)));
  live.addEventListener("all", (event) => grid?.all(JSON.parse(event.detail.data)));
})();
