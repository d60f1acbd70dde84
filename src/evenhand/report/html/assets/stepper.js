"use strict";
/* One episode, step by step: who is present, what each has received, who is chosen, and why. */
(() => {
  const { episode } = JSON.parse(document.getElementById("data").textContent);
  const box = document.querySelector(".stepper");
  const words = box.querySelector(".now");
  const list = box.querySelector(".counter");
  const button = (name) => box.querySelector(`[data-step=${name}]`);
  const SVG = "http://www.w3.org/2000/svg";
  const most = Math.max(1, ...episode.steps.flatMap((one) => one.had)) + 1;
  let at = 0;
  let playing = 0;

  function doughnuts(had, chosen, wasted) {
    const size = 18;
    const drawing = document.createElementNS(SVG, "svg");
    drawing.setAttribute("width", String(most * (size + 4)));
    drawing.setAttribute("height", String(size));
    drawing.setAttribute("aria-hidden", "true");
    for (let k = 0; k < had + (chosen && !wasted ? 1 : 0); k += 1) {
      const ring = document.createElementNS(SVG, "circle");
      const fresh = k === had;
      ring.setAttribute("cx", String(k * (size + 4) + size / 2));
      ring.setAttribute("cy", String(size / 2));
      ring.setAttribute("r", String(size / 2 - 4));
      ring.setAttribute("fill", "none");
      ring.setAttribute("stroke", fresh ? "var(--first)" : "var(--faint)");
      ring.setAttribute("stroke-width", fresh ? "6" : "5");
      drawing.append(ring);
    }
    return drawing;
  }

  function customer(step, who) {
    const item = document.createElement("li");
    const here = step.present[who];
    const chosen = step.choice === who;
    item.className = `${chosen ? "chosen" : ""} ${here ? "here" : "away"}`;
    const name = document.createElement("b");
    name.textContent = episode.names[who];
    const why = document.createElement("span");
    why.className = "why";
    const loss = -step.values[who];
    const value = chosen ? "chosen: highest value" : loss < 0.0005 ? "equal value" : `value lower by ${loss.toFixed(2)}`;
    const had = `${step.had[who]} so far`;
    why.textContent = `${here ? "present" : "absent"}, ${had}; ${value}`;
    item.append(name, doughnuts(step.had[who], chosen, step.wasted), why);
    return item;
  }

  function show() {
    const step = episode.steps[at];
    const to = episode.names[step.choice];
    words.textContent = `Doughnut ${step.step} of ${episode.steps.length} goes to ${to}`
      + `${step.wasted ? ", who is absent: it is wasted" : ""}. `
      + `${step.as_the_optimum ? "The optimal policy would do the same." : "The optimal policy would choose another customer."} `
      + `Score so far: ${step.score.toFixed(2)}.`;
    list.replaceChildren(...episode.names.map((_, who) => customer(step, who)));
    button("back").disabled = at === 0;
    button("first").disabled = at === 0;
    button("next").disabled = at === episode.steps.length - 1;
  }
  function stop() {
    clearInterval(playing);
    playing = 0;
    button("play").textContent = "Play";
  }
  function go(to) {
    at = Math.max(0, Math.min(episode.steps.length - 1, to));
    show();
  }
  button("first").addEventListener("click", () => { stop(); go(0); });
  button("back").addEventListener("click", () => { stop(); go(at - 1); });
  button("next").addEventListener("click", () => { stop(); go(at + 1); });
  button("play").addEventListener("click", () => {
    if (playing) { stop(); return; }
    if (at === episode.steps.length - 1) go(0);
    button("play").textContent = "Pause";
    playing = setInterval(() => {
      go(at + 1);
      if (at === episode.steps.length - 1) stop();
    }, 900);
  });
  show();
})();
