"use strict";
/* Draws the page's charts: their specifications are embedded, their rows come from the page.
   Colours are CSS variables in the drawing itself, so light mode, dark mode and print use the same drawing.
   Text is always written as text. */
const Charts = (() => {
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const drawings = new Map();
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);

  const text = { labelColor: "var(--ink)", titleColor: "var(--ink)" };
  const config = {
    background: null,
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: {
      ...text, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 400, labelLimit: 150,
      gridColor: "var(--grid)", domainColor: "var(--rule)", tickColor: "var(--rule)",
    },
    text: { fontSize: 12 },
  };

  function tooltip(handler, event, item, value) {
    if (value === null || value === undefined || value === "") { tip.hidden = true; return; }
    tip.textContent = typeof value === "object" ? Object.values(value).join("\n") : String(value);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const above = event.clientY + 18 + box.height > innerHeight;
    const top = above ? event.clientY - box.height - 12 : event.clientY + 18;
    tip.style.left = `${Math.max(4, left) + scrollX}px`;
    tip.style.top = `${Math.max(4, top) + scrollY}px`;
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  /* Draw a chart into its place. `rows(width)` returns the data sets and may adjust the chart. */
  async function draw(place, rows, picked) {
    const width = Math.floor(place.clientWidth);
    if (!width) return;
    const { data, change } = rows(width);
    const spec = structuredClone(specs[place.dataset.chart]);
    spec.width = width;
    if (change) change(spec);
    spec.datasets = { ...spec.datasets, ...data };
    const before = drawings.get(place);
    const inner = document.createElement("div");
    const result = await vegaEmbed(inner, spec, {
      mode: "vega-lite", actions: false, ast: true, renderer: "svg", defaultStyle: false,
      tooltip, config, logLevel: 1,
    });
    // The place of a chart has a text alternative of its own, so the drawing is hidden from screen readers.
    const drawing = inner.querySelector("svg");
    for (const one of [drawing, ...drawing.querySelectorAll("[role], [aria-roledescription], [aria-label]")]) {
      for (const name of ["role", "aria-roledescription", "aria-label"]) one.removeAttribute(name);
    }
    drawing.setAttribute("aria-hidden", "true");
    place.replaceChildren(inner);
    if (before && before.view) before.view.finalize();
    drawings.set(place, { width, rows, picked, view: result.view });
    if (picked) {
      result.view.addEventListener("click", (event, item) => {
        if (item && item.datum) picked(item.datum);
      });
    }
  }

  /* In print nothing can be unfolded. */
  const folded = new Set();
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details.paper:not([open])")) { one.open = true; folded.add(one); }
  });
  addEventListener("afterprint", () => { for (const one of folded) one.open = false; folded.clear(); });

  let waiting = 0;
  function redraw() {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (matchMedia("print").matches) return;
      for (const [place, one] of drawings) {
        if (Math.abs(place.clientWidth - one.width) > 4) draw(place, one.rows, one.picked);
      }
    }, 150);
  }
  addEventListener("resize", redraw);

  return { draw, specs };
})();
