"use strict";
/* Charts whose rows are embedded in the page in their final form. */
(async () => {
  const { static: rows } = JSON.parse(document.getElementById("data").textContent);
  for (const part of document.querySelectorAll("[data-script]")) part.hidden = false;
  for (const place of document.querySelectorAll("[data-kind=static]")) {
    await Charts.draw(place, () => ({ data: rows[place.dataset.chart] }));
  }
  document.documentElement.dataset.drawn = "true";
})();
