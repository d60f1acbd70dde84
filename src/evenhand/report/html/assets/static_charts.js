"use strict";
/* Charts whose rows stand in the page as they are drawn. */
(async () => {
  const { given } = JSON.parse(document.getElementById("data").textContent);
  for (const part of document.querySelectorAll("[data-script]")) part.hidden = false;
  for (const place of document.querySelectorAll("[data-kind=given]")) {
    await Charts.draw(place, () => ({ data: given[place.dataset.chart] }));
  }
  document.documentElement.dataset.drawn = "true";
})();
