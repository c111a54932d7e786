// The recording that was chosen, in the player of the page of a run of tests.
"use strict";
(() => {
  const choice = document.getElementById("recording"), place = document.getElementById("player");
  const said = document.getElementById("recording-said");
  if (!choice) return;
  let asked = null;

  async function show() {
    const now = (asked = {});
    playing?.stop();
    said.textContent = "Loading…";
    try {
      const answer = await fetch(choice.value, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(answer.status === 404 ? "It is not kept any more." : "It can't be shown.");
      const film = await answer.json();
      if (now !== asked) return; // another one was chosen meanwhile
      place.replaceChildren(new Player(film).element);
      said.textContent = "";
    } catch (error) {
      if (now !== asked) return;
      place.replaceChildren();
      said.textContent = error instanceof TypeError ? "The daemon can't be reached." : error.message;
    }
  }

  choice.addEventListener("change", show);
  show();
})();
