"use strict";
// What happens while the page is open is shown at once. Everything also works without this script.
(() => {
  const news = document.getElementById("news");
  const stream = document.body.dataset.stream;
  const KINDS = ["create", "join", "leave", "pause", "resume", "entitle", "ask", "decide", "undo"];
  const LOCKED = 1500; // milliseconds in which a button that has just changed cannot be pressed

  // A form that is sent twice does nothing twice (see its key); this shows that it was sent.
  document.addEventListener("submit", (event) => {
    for (const button of event.target.querySelectorAll("button")) {
      setTimeout(() => { button.disabled = true; }, 0);
    }
  });
  window.addEventListener("pageshow", () => {
    for (const button of document.querySelectorAll("button")) button.disabled = false;
  });

  if (!stream || !window.EventSource) return;

  const isBusy = (part) => part.contains(document.activeElement)
    && document.activeElement.matches("input, select, textarea");

  const swap = (fresh) => {
    for (const part of document.querySelectorAll("[data-live]")) {
      const other = fresh.getElementById(part.id);
      if (!other || other.outerHTML === part.outerHTML || isBusy(part)) continue;
      const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
      part.replaceWith(other);
      const button = other.querySelector("#take");
      if (button) { // nobody is to press it for somebody else than they have read
        button.disabled = true;
        setTimeout(() => { button.disabled = false; if (focused === "take") button.focus(); }, LOCKED);
      }
    }
    const turn = fresh.querySelector("input[name=turn]");
    for (const field of document.querySelectorAll("input[name=turn]")) {
      if (turn) field.value = turn.value;
    }
  };

  let asked = false;
  const refresh = async () => {
    asked = false;
    const address = new URL(location.href);
    address.searchParams.delete("done");
    try {
      const answer = await fetch(address, { credentials: "same-origin" });
      if (!answer.ok) { news.textContent = "Reload the page: it is not up to date any more."; return; }
      swap(new DOMParser().parseFromString(await answer.text(), "text/html"));
      news.textContent = "Something happened: this page is up to date.";
    } catch { news.textContent = "The service cannot be reached: this page may be out of date."; }
  };

  const source = new EventSource(stream);
  for (const kind of KINDS) {
    source.addEventListener(kind, () => {
      if (!asked) { asked = true; setTimeout(refresh, 150); } // several at once are one
    });
  }
})();
