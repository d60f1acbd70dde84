"use strict";
/* The page of an audit: charts from the embedded numbers, search, order, single stakeholders, downloads. */
const Audit = {};
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const MINUS = "\u2212";
  const all = (selector) => [...document.querySelectorAll(selector)];

  /* A number with as many digits as a reader can use: the same as evenhand._util.wording.format_number. */
  const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0, roundingMode: "halfEven" });
  function fixed(size, digits) {
    // Like Python, and unlike toFixed, ties are rounded to even.
    const exact = size.toFixed(Math.min(100, digits + 60));
    const cut = exact.indexOf(".") + 1 + digits;
    const tie = /^50*$/.test(exact.slice(cut)) && /[02468]\.?$/.test(exact.slice(0, cut));
    const text = tie ? exact.slice(0, cut) : size.toFixed(digits);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }
  function number(value, sign = false) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    const size = Math.abs(value);
    let text;
    if (size >= 1000 || Number.isInteger(value)) text = grouped.format(size);
    else if (size >= 1) text = fixed(size, 2);
    else if (size >= 1e-6) text = fixed(size, 2 - Math.floor(Math.log10(size)));
    else {
      const [digits, power] = size.toExponential(2).split("e");
      text = `${Number(digits)}e\u2212${power.slice(1).padStart(2, "0")}`;
    }
    if (text === "0") return text;
    return `${value < 0 ? MINUS : sign ? "+" : ""}${text}`;
  }
  Audit.number = number;
  /* With digits enough to differ from another number: as evenhand._util.wording.tell_apart. */
  function apart(value, other) {
    const far = Math.abs(value - other);
    if (number(value) !== number(other) || !(far > 1e-9 * Math.max(Math.abs(value), Math.abs(other)))) return number(value);
    const digits = Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(far))));
    const text = new Intl.NumberFormat("en-US", { maximumFractionDigits: digits }).format(Math.abs(value));
    return value < 0 ? MINUS + text : text;
  }
  function shown(value, sign = false) {
    const element = document.createElement("data");
    element.value = value === null ? "" : String(value);
    element.textContent = number(value, sign);
    return element;
  }
  const capital = (word) => word[0].toUpperCase() + word.slice(1);
  // In a sentence a name with a comma of its own is in quotes.
  const listed = (name) => (name.includes(",") ? `“${name}”` : named(name));
  const named = (name) => (name.trim() === "" ? `“${name}”` : name);
  const side = (value) => (value < 0 ? "unfair to it" : value > 0 ? "in its favour" : "at the mean");

  /* ---- the numbers ---- */
  /* The charts are drawn before the page has loaded, so that a print of it has them all: nothing here waits. */
  const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  function unpacked(matrix) {
    if (matrix.rows) return matrix.rows;
    const digit = new Uint8Array(128);
    [...LETTERS].forEach((letter, k) => { digit[letter.charCodeAt(0)] = k; });
    const rows = [];
    let row = [], last = 0, code = 0, scale = 1;
    for (let k = 0; k < matrix.packed.length; k += 1) {
      const found = digit[matrix.packed.charCodeAt(k)];
      code += (found & 31) * scale;
      scale *= 32;
      if (found & 32) continue;
      if (code === 0) row.push(null);
      else {
        last += code % 2 ? (code - 1) / 2 : -code / 2;
        // Division keeps decimals short: 3 / 10 is 0.3, but 3 × 0.1 is not.
        row.push(matrix.per > 1 ? last / matrix.per : last * matrix.unit);
      }
      code = 0;
      scale = 1;
      if (row.length === matrix.columns) { rows.push(row); row = []; last = 0; }
    }
    return rows;
  }
  for (const log of data.logs) {
    const { columns, rows } = log.stakeholders;
    log.entries = rows.map((row) => Object.fromEntries(columns.map((name, k) => [name, row[k]])));
    log.names = log.over_time.unfairness.names;
    log.series = unpacked(log.over_time.unfairness);
    const band = log.chance && log.chance.band;
    log.byChance = band ? { low: unpacked(band.low), high: unpacked(band.high) } : null;
    log.place = new Map(log.names.map((name, k) => [name, k]));
    log.seriesOf = (name) => log.series[log.place.get(name)];
    const steps = log.over_time.times.length;
    log.low = new Array(steps).fill(0);
    log.high = new Array(steps).fill(0);
    log.series.forEach((row) => {
      for (let k = 0; k < steps; k += 1) {
        if (row[k] === null) continue;
        if (row[k] < log.low[k]) log.low[k] = row[k];
        if (row[k] > log.high[k]) log.high[k] = row[k];
      }
    });
    // Rounding errors in a mean of equal numbers are not unfairness.
    const largest = Math.max(...log.high, ...log.low.map((v) => -v), ...log.over_time.mean.map(Math.abs));
    log.noise = largest * 1e-13;
    // Numbers are such that less than the mean is worse; of harms a reader is shown what was logged.
    log.shown = (value) => (value === null || value === undefined ? value : log.terms.sign * value + 0);
  }
  const below = (log, value) => value !== null && value < -log.noise;
  const above = (log, value) => value !== null && value > log.noise;

  /* With more assessments than a screen can show: the lowest and the highest of each section. */
  const DRAWN = 240;
  function places(...series) {
    const steps = series[0].length;
    if (steps <= DRAWN) return series[0].map((_, k) => k);
    const kept = new Set([0, steps - 1]);
    const size = Math.ceil(steps / (DRAWN / (2 * series.length)));
    for (let from = 0; from < steps; from += size) {
      for (const values of series) {
        let low = from, high = from;
        for (let k = from; k < Math.min(from + size, steps); k += 1) {
          if (values[k] === null) continue;
          if (values[low] === null || values[k] < values[low]) low = k;
          if (values[high] === null || values[k] > values[high]) high = k;
        }
        kept.add(low).add(high);
      }
    }
    return [...kept].sort((a, b) => a - b);
  }

  /* ---- fairness over time ---- */
  function welfareOverTime(logs) {
    const sets = { assessments: [], open: [], levels: [], marks: [] };
    const several = logs.length > 1;
    for (const log of logs) {
      const over = log.over_time;
      if (over.welfare === null) continue;
      const k = data.logs.indexOf(log);
      const label = several ? `${named(log.log)}, ` : "";
      // Against the even log it shows how fair it was; welfare alone rises with what is given out.
      const drawn = (welfare, even) => (data.from_even ? welfare - even : welfare);
      const words = (welfare, even) => (!data.from_even ? `welfare ${number(welfare)}`
        : `${number(welfare - even, true)} from an even log\nwelfare ${apart(welfare, even)}, even ${apart(even, welfare)}`);
      const even = over.even_welfare ?? [];
      const point = (i) => ({ x: log.axis.x[i], welfare: drawn(over.welfare[i], even[i]), log: k,
        words: `${label}${over.times[i]}: ${words(over.welfare[i], even[i])}` });
      for (const i of places(over.welfare.map((value, i) => drawn(value, even[i])))) sets.assessments.push(point(i));
      const score = data.from_even ? `score ${apart(log.score, log.overall.even_score)}, of an even log ${
        apart(log.overall.even_score, log.score)}` : `score ${number(log.score)}`;
      sets.levels.push({ welfare: drawn(log.score, log.overall.even_score), log: k, words: label + score });
      if (over.unfinished && over.unfinished.welfare !== null) {
        sets.open.push({ ...point(over.times.length - 1), last: false });
        const last = [over.unfinished.welfare, over.unfinished.even_welfare];
        sets.open.push({ x: log.axis.open, welfare: drawn(...last), log: k, last: true,
          words: `${label}${over.unfinished.time}: ${words(...last)}\nunfinished, not scored` });
      }
      for (const mark of log.axis.marks) sets.marks.push({ ...mark, words: label + mark.words });
    }
    return () => ({ data: sets });
  }
  function spread(log) {
    const over = log.over_time;
    // Names that are tied, as in the tables; rounded series are tied where their digits agree.
    const who = (k, far) => {
      if (Math.abs(far) <= log.noise) return "nobody";
      const near = Math.max(1e-9 * Math.max(log.high[k], -log.low[k]), log.noise);
      const names = log.names.filter((_, i) => log.series[i][k] !== null && Math.abs(log.series[i][k] - far) <= near);
      const some = names.slice(0, names.length > 3 ? 2 : 3).map(listed);
      if (names.length > 3) some.push(`${number(names.length - 2)} others`);
      return some.length > 1 ? `${some.slice(0, -1).join(", ")} and ${some.at(-1)}` : some[0];
    };
    const rows = places(log.low, log.high).map((k) => ({
      x: log.axis.x[k], worse: log.shown(log.low[k]), better: log.shown(log.high[k]),
      words: `${over.times[k]}\nfurthest ${log.terms.worse}: ${who(k, log.low[k])}, ${number(log.shown(log.low[k]), true)}\n`
        + `furthest ${log.terms.better}: ${who(k, log.high[k])}, ${number(log.shown(log.high[k]), true)}`,
    }));
    return () => ({ data: { spread: rows } });
  }

  /* ---- heatmap ---- */
  const ROWS = 80, HALF = 30;
  const orders = {
    overall: (a, b) => a.overall_unfairness - b.overall_unfairness,
    final: (a, b) => (a.final_unfairness ?? 0) - (b.final_unfairness ?? 0),
    name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
  };
  function chosen(log, order) {
    let entries = [...log.entries].sort(order === "final" ? orders.final : orders.overall);
    if (entries.length > ROWS) entries = [...entries.slice(0, HALF), ...entries.slice(-HALF)];
    return order === "name" ? entries.sort(orders.name) : entries;
  }
  function classOf(log, value) {
    if (!below(log, value) && !above(log, value)) return 0;
    const size = Math.abs(value);
    const [small, large] = log.axis.classes;
    return Math.sign(value) * (size < small ? 1 : size < large ? 2 : 3);
  }
  function heatmap(log, order) {
    return (width) => {
      const sorting = order();
      const entries = chosen(log, sorting);
      const over = log.over_time;
      const room = Math.max(6, Math.floor((width - 160) / 7));
      const steps = over.times.length;
      const size = Math.ceil(steps / Math.min(room, 100));
      const cells = [];
      const columns = [];
      for (let from = 0; from < steps; from += size) columns.push(over.times[from]);
      if (over.unfinished) columns.push(over.unfinished.time);
      const rows = entries.map((one, k) => `${k}`);
      const hidden = log.entries.length - entries.length;
      entries.forEach((one, k) => {
        const series = log.seriesOf(one.name);
        const add = (column, value, time, more) => cells.push({
          row: rows[k], column, class: classOf(log, value), name: one.name,
          words: `${named(one.name)}\n${time}: ${number(log.shown(value), true)} (${side(value)})${more}` });
        for (let from = 0; from < steps; from += size) {
          // A cell that covers several assessments shows the one furthest from the mean.
          let best = -1;
          for (let i = from; i < Math.min(from + size, steps); i += 1) {
            if (series[i] !== null && (best < 0 || Math.abs(series[i]) > Math.abs(series[best]))) best = i;
          }
          if (best >= 0) {
            const value = classOf(log, series[best]) === 0 ? 0 : series[best];
            add(over.times[from], value, over.times[best], size > 1 ? `\nfurthest of ${size}` : "");
          }
        }
        if (over.unfinished) {
          const value = over.unfinished.unfairness[log.place.get(one.name)];
          if (value !== null) add(over.unfinished.time, value, over.unfinished.time, "\nunfinished, not scored");
        }
      });
      const names = entries.map((one, k) => ({ row: rows[k], name: one.name,
        label: named(one.name), words: named(one.name) }));
      const domain = [...rows];
      if (hidden && sorting !== "name") { // between those treated worst and best
        domain.splice(HALF, 0, "others");
        names.push({ row: "others", label: `… ${number(hidden)} others`, words: "found by the search below" });
      }
      return {
        data: { cells, names },
        change: (spec) => {
          spec.height = domain.length * (entries.length > 40 ? 14 : 20);
          spec.layer[0].encoding.x.scale = { domain: columns };
          for (const layer of spec.layer) layer.encoding.y.scale = { domain };
          spec.layer[1].mark.limit = width < 500 ? 96 : 150;
        },
      };
    };
  }

  /* ---- recovered, fell behind ---- */
  const POINTS = 2000, NAMED = 6;
  function recovery(log) {
    return (width) => {
      let entries = log.entries.filter((one) => one.final_unfairness !== null);
      if (entries.length > POINTS) {
        const every = Math.ceil(entries.length / POINTS);
        entries = entries.filter((one, k) => one.made_good || one.fell_behind || k % every === 0
          || k < 20 || k >= log.entries.length - 20);
      }
      const labelled = new Set();
      if (width > 480) {
        const ends = [...entries].sort(orders.overall);
        const size = (one) => Math.abs(one.overall_unfairness);
        const changed = entries.filter((one) => one.made_good || one.fell_behind).sort((a, b) => size(b) - size(a));
        const span = (field) => Math.max(...entries.map((one) => one[field])) - Math.min(...entries.map((one) => one[field]));
        const across = span("overall_unfairness"), along = span("final_unfairness");
        const near = (a, b) => Math.abs(a.overall_unfairness - b.overall_unfairness) < 0.2 * across
          && Math.abs(a.final_unfairness - b.final_unfairness) < 0.06 * along;
        for (const one of [...ends.slice(0, 1), ...ends.slice(-2), ...changed.slice(0, NAMED)]) {
          if (![...labelled].some((other) => near(one, other))) labelled.add(one);
        }
      }
      const places = entries.map((one) => log.shown(one.overall_unfairness));
      const middle = Math.min(...places) * 0.4 + Math.max(...places) * 0.6;
      const rows = entries.map((one) => {
        const change = one.made_good ? "recovered" : one.fell_behind ? "fell behind" : "unchanged";
        const overall = log.shown(one.overall_unfairness), final = log.shown(one.final_unfairness);
        return { name: one.name, left: overall > middle, overall, final, change,
          label: labelled.has(one) ? named(one.name) : "",
          words: `${named(one.name)}\noverall: ${number(overall, true)}\n`
            + `at the end: ${number(final, true)}${change === "unchanged" ? "" : `\n${change}`}` };
      });
      rows.sort((a, b) => (a.change !== "unchanged") - (b.change !== "unchanged"));
      return { data: { stakeholders: rows } };
    };
  }

  /* ---- one stakeholder over time ---- */
  function spellsOf(log, series) {
    const spells = [];
    let open = null;
    series.forEach((value, k) => {
      if (below(log, value)) {
        if (!open) open = { from: k, until: k, deepest: k };
        open.until = k;
        if (value < series[open.deepest]) open.deepest = k;
      } else if (open && value !== null) { open.back = k; spells.push(open); open = null; }
    });
    if (open) spells.push(open);
    return spells;
  }
  function storyRows(log, one) {
    const over = log.over_time;
    const series = log.seriesOf(one.name);
    const spells = spellsOf(log, series);
    const x = log.axis.x;
    // Each assessment has its own interval on the axis, half way to its neighbours.
    const drawn = places(series);
    const gaps = drawn.slice(1).map((k, i) => x[k] - x[drawn[i]]).filter((gap) => gap > 0);
    const half = gaps.length ? Math.min(...gaps) * 0.5 : 0.5;
    const reach = (from, until, share) => ({ x: x[from] - half * share, until: x[until] + half * share });
    const domain = [x[0] - half * 0.7, x[x.length - 1] + half * 0.7];
    const own = log.place.get(one.name);
    const chance = (k) => (log.byChance && log.byChance.low[own][k] !== null
      ? { chance_low: log.shown(log.byChance.low[own][k]), chance_high: log.shown(log.byChance.high[own][k]) } : {});
    const rows = [];
    for (const k of drawn) {
      if (series[k] === null) continue;
      const mean = over.mean[k];
      const { x: from, until } = reach(k, k, 0.7);
      const status = log.shown(mean + series[k]);
      rows.push({ x: x[k], from, until, mean: log.shown(mean), status, low: log.shown(mean + log.low[k]),
        high: log.shown(mean + log.high[k]), deviation: log.shown(series[k]),
        side: below(log, series[k]) ? "worse" : "better", ...chance(k),
        words: `${over.times[k]}\nstatus ${number(status)}, mean ${number(log.shown(mean))}\n`
          + `${number(log.shown(series[k]), true)} (${side(series[k])})` });
    }
    const returns = spells.filter((s) => s.back !== undefined).map((s) => ({
      x: x[s.back], deviation: log.shown(series[s.back]),
      words: `${over.times[s.back]}\nagain at or ${log.terms.better} the mean` }));
    const strips = spells.map((s) => ({ ...reach(s.from, s.until, 1),
      words: `${log.terms.worse} the mean\n${over.times[s.from]} to ${over.times[s.until]}` }));
    const change = (spec) => {
      const first = spec.layer.find((layer) => layer.encoding.x);
      first.encoding.x.scale = { ...first.encoding.x.scale, domain };
    };
    return () => ({ data: { story: rows, spells: strips, returns }, change });
  }
  function paragraph(...parts) {
    const element = document.createElement("p");
    element.append(...parts);
    return element;
  }
  function storyWords(log, one) {
    const over = log.over_time;
    const series = log.seriesOf(one.name);
    const spells = spellsOf(log, series);
    const several = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
    const { worse, better } = log.terms;
    const words = [paragraph("Status at the end ", shown(log.shown(one.final)), ", which is ",
      ...(one.final_unfairness === 0 ? ["the mean"]
        : [shown(log.shown(one.final_unfairness), true), ` from the mean (${side(one.final_unfairness)})`]), ": rank ",
      shown(one.rank_final), " of ", shown(log.entries.length), ". Overall ",
      shown(log.shown(one.overall_unfairness), true), " (", side(one.overall_unfairness), "): rank ",
      shown(one.rank_overall), ". 1 is the most favoured.")];
    const share = `${Math.round(one.share_below * 100)}%`;
    if (one.longest_spell === 0) words.push(paragraph(`It was not ${worse} the mean at any assessment.`));
    else if (log.runs !== null) {
      words.push(paragraph(`${capital(worse)} the mean at ${share} of its assessments, on average over the runs; `
        + "the longest spell in any run was ", shown(one.longest_spell), " in a row."));
    } else {
      words.push(paragraph(`${capital(worse)} the mean at ${share} of `, shown(one.assessments),
        " assessments; the longest spell was ", shown(one.longest_spell),
        ` in a row, ${one.longest_spell_from} to ${one.longest_spell_until}.`));
      const back = spells.filter((s) => s.back !== undefined);
      const list = back.slice(0, 5).map((s) => over.times[s.back]).join(", ");
      const more = back.length > 5 ? ` and ${several(back.length - 5, "other time")}` : "";
      words.push(paragraph(back.length
        ? `Compensated (again at or ${better} the mean): ${list}${more}.`
        : `It was not compensated: after it was ${worse} the mean it did not return to it.`));
    }
    if (one.made_good) words.push(paragraph("Behind overall, but recovered by the end."));
    if (one.fell_behind) words.push(paragraph("Not behind overall, but behind at the end."));
    if (one.entitlement !== null) {
      words.push(paragraph("Entitlement ", shown(one.entitlement), "; status is per unit of it."));
    }
    if (one.chances !== null) {
      words.push(paragraph("It had ", shown(one.received), " out of ", shown(one.chances), "."));
    }
    if (one.short_of_share !== null && Math.abs(one.final_unfairness) > log.noise) {
      const [unit, share] = log.terms.units;
      const more = (one.short_of_share < 0) !== (log.terms.sign < 0);
      words.push(paragraph("At the end that is ", shown(Math.abs(one.short_of_share)),
        `${unit} ${more ? "more" : "less"} than its share${share}.`));
    }
    return words;
  }
  async function showStakeholder(log, one, scroll) {
    const box = log.story;
    box.querySelector(".who").textContent = named(one.name);
    box.querySelector(".words").replaceChildren(...storyWords(log, one));
    const rows = storyRows(log, one);
    for (const place of box.querySelectorAll("[data-chart]")) await Charts.draw(place, rows);
    if (scroll) {
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      box.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" });
      box.querySelector(".who").focus({ preventScroll: true });
    }
  }
  function search(log) {
    const box = log.story;
    const input = box.querySelector("input");
    const list = box.querySelector("[role=listbox]");
    const count = box.querySelector("[role=status]");
    const folded = log.entries.map((one) => one.name.normalize("NFKC").toLowerCase());
    let found = [], at = -1;
    const close = () => { list.hidden = true; at = -1; input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant"); };
    const choose = (one) => { input.value = one.name; close(); showStakeholder(log, one, false); };
    const mark = () => [...list.children].forEach((item, k) => {
      item.setAttribute("aria-selected", String(k === at));
      if (k === at) { input.setAttribute("aria-activedescendant", item.id); item.scrollIntoView({ block: "nearest" }); }
    });
    const look = () => {
      const wanted = input.value.normalize("NFKC").toLowerCase();
      const starts = [], within = [];
      folded.forEach((name, k) => {
        if (name.startsWith(wanted)) starts.push(k);
        else if (name.includes(wanted)) within.push(k);
      });
      found = [...starts, ...within].map((k) => log.entries[k]);
      const many = found.length;
      found = found.slice(0, 8);
      list.replaceChildren(...found.map((one, k) => {
        const item = document.createElement("li");
        item.id = `${list.id}-${k}`;
        item.setAttribute("role", "option");
        item.setAttribute("aria-selected", "false");
        item.textContent = named(one.name);
        item.addEventListener("pointerdown", (event) => { event.preventDefault(); choose(one); });
        return item;
      }));
      at = -1;
      list.hidden = found.length === 0;
      input.setAttribute("aria-expanded", String(!list.hidden));
      input.removeAttribute("aria-activedescendant");
      count.textContent = many === 0 ? "no stakeholder of that name" : many > 8 ? `${number(many)} found, 8 shown` : "";
    };
    input.addEventListener("input", look);
    input.addEventListener("focus", () => { input.select(); });
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { close(); return; }
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (list.hidden) look();
        if (!found.length) return;
        at = (at + (event.key === "ArrowDown" ? 1 : -1) + found.length) % found.length;
        mark();
      } else if (event.key === "Enter") {
        event.preventDefault();
        const exact = log.entries.find((one) => one.name === input.value);
        if (at >= 0) choose(found[at]);
        else if (exact) choose(exact);
        else if (!list.hidden && found.length) choose(found[0]);
      }
    });
  }

  /* ---- downloads ---- */
  function asJson(log) {
    const { entries, names, series, place, seriesOf, low, high, noise, shown: _, story, axis, terms, byChance, ...kept } = log;
    const over = log.over_time;
    const byName = (values) => Object.fromEntries(names.map((name, k) => [name, values[k]]));
    const unfinished = over.unfinished && { ...over.unfinished, unfairness: byName(over.unfinished.unfairness) };
    if (byChance) {
      const band = { ...log.chance.band, low: byName(byChance.low), high: byName(byChance.high) };
      kept.chance = { ...log.chance, band };
    }
    return { ...kept, stakeholders: entries, over_time: { ...over, unfairness: byName(series), unfinished } };
  }
  function cell(value) {
    if (value === null || value === undefined) return "";
    let text = String(value);
    // A spreadsheet must not run a name as a formula.
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  const sheet = (rows) => rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
  const sheets = {
    stakeholders: (log) => sheet([log.stakeholders.columns, ...log.stakeholders.rows]),
    over_time: (log) => sheet([["time", "welfare", "mean", ...log.names],
      ...log.over_time.times.map((time, k) => [time, log.over_time.welfare ? log.over_time.welfare[k] : null,
        log.over_time.mean[k], ...log.series.map((row) => row[k])])]),
    questions: (log) => sheet([
      ["question", "asked", "assessments", "unequal_assessments", "treated_worst", "overall_unfairness",
        "turns", "welfare", "score", "even_score", "welfare_turns", "all_treated_worst"],
      ...log.questions.flatMap((row) => Object.entries(row.welfare).map(([welfare, reading]) => [
        row.question, row.asked, row.assessments, row.unequal_assessments, row.treated_worst,
        row.overall_unfairness, row.turns, welfare, reading.score, reading.even_score, reading.turns,
        row.all_treated_worst.join("; ")]))]),
  };
  function save(name, type, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  for (const button of all("button[data-save]")) {
    button.disabled = false;
    button.addEventListener("click", () => {
      const kind = button.dataset.save;
      const log = data.logs[Number(button.dataset.log ?? 0)];
      if (kind === "json") {
        const both = data.logs.map(asJson);
        const { logs, from_even: _, ...rest } = data;
        const object = logs.length > 1 ? { logs: both, ...rest } : both[0];
        save("audit.json", "application/json", JSON.stringify(object, null, 2));
      } else save(`${kind}.csv`, "text/csv", sheets[kind](log));
    });
  }

  /* ---- putting it together ---- */
  for (const part of all("[data-script]")) part.hidden = false;
  for (const [k, log] of data.logs.entries()) {
    log.story = document.querySelector(`.story[data-log="${k}"]`);
    search(log);
    const person = (name) => log.entries.find((one) => one.name === name);
    const pick = (datum) => { const one = person(datum.name); if (one) showStakeholder(log, one, true); };
    for (const link of all(`a.who[data-log="${k}"]`)) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        showStakeholder(log, log.entries[Number(link.dataset.who)], true);
      });
    }
    for (const place of all(`[data-chart][data-log="${k}"]`)) {
      const kind = place.dataset.kind;
      if (kind === "spread") await Charts.draw(place, spread(log));
      if (kind === "recovery") await Charts.draw(place, recovery(log), pick);
      if (kind === "heatmap") {
        const order = document.querySelector(`select[data-log="${k}"]`);
        const rows = heatmap(log, () => order.value);
        order.addEventListener("change", () => Charts.draw(place, rows, pick));
        await Charts.draw(place, rows, pick);
      }
    }
    if (log.entries.length) await showStakeholder(log, log.entries[0], false);
  }
  for (const place of all("[data-kind=welfare]")) await Charts.draw(place, welfareOverTime(data.logs));
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
