// The main figures of a run, and their differences to those of the reference variant if there is
// one.

import { textElement } from "../script/elements.js";
import { RUN_METRICS, formatDifference, formatQuantity, runCards } from "../script/panels/metrics.js";
import { formatPercent, noBreak } from "../script/units.js";

// Returns the fastest run of those with several schedules.
export const fastestOf = (runs) =>
  runs.reduce((best, run) => (run.summary.makespan_s < best.summary.makespan_s ? run : best));

export function headlineOf(runs, reference) {
  const run = fastestOf(runs);
  const cards = runCards(run);
  addExpected(cards, run.summary);
  for (const metric of reference ? RUN_METRICS : []) {
    const card = cards.querySelector(`a.metric[href="#${metric.anchor}"]`)?.parentElement;
    const [value, first] = [metric.of(run.summary), metric.of(reference.run.summary)];
    if (!card || typeof value !== "number" || typeof first !== "number") continue;
    if (metric.instead && typeof metric.instead.of(run.summary) === "number") continue;
    if (card.querySelector(".change")) continue;
    const text = value === first ? "the same" : changeText(metric, value, first);
    const change = textElement("small", noBreak(text), "change");
    if (value !== first) change.classList.add((value < first) === (metric.better < 0) ? "good" : "bad");
    change.title = `compared to ${reference.name}`;
    card.querySelector("b").after(change);
  }
  return cards;
}

// Adds the range in which measurements are expected to each figure that follows from the iteration
// time, and a remark that the error is not known to all other figures.
function addExpected(cards, summary) {
  const error = summary.expected_error;
  if (!error) return;
  const note = `${formatPercent(error.nominal)} of ${error.rows} measured runs: ${error.basis}`;
  for (const link of cards.querySelectorAll("a.metric")) {
    const metric = RUN_METRICS.find(({ anchor, of, instead }) =>
      link.hash === `#${anchor}` && typeof of(summary) === "number" &&
      !(instead && typeof instead.of(summary) === "number"));
    if (!metric) continue;
    const value = metric.of(summary);
    const range = EXPECTED[metric.anchor]?.(value, error);
    const text = range ? `expected ${rangeText(range, metric.unit, value)}` : "error not known";
    const expected = textElement("small", text, "expected");
    expected.title = range ? note : "no measurement of this figure was compared with predictions";
    link.parentElement.append(expected);
  }
}

// A range with its unit once: "15.88 .. 22.29 s".
function rangeText(range, unit, value) {
  const [first, last] = range.map((end) => formatQuantity(end, unit, value));
  const ending = last.replace(/^[\d.]+/, "");
  return noBreak(`${first.endsWith(ending) ? first.slice(0, -ending.length) : first} .. ${last}`);
}

// Ranges of figures, from the smallest to the largest, for an error of the time: measured over
// predicted time, minus 1.
const longer = (value, { low, high }) => [value * (1 + low), value * (1 + high)];
const slower = (value, { low, high }) => [value / (1 + high), value / (1 + low)];
const EXPECTED = { makespan: longer, throughput: slower, mfu: slower };

export function changeText({ unit }, value, first) {
  const sign = value < first ? "\u2212" : "+";
  const relative = first !== 0 && unit !== "share"
    ? ` (${sign}${formatPercent(Math.abs(value - first) / Math.abs(first))})` : "";
  return formatDifference(value - first, unit, Math.max(Math.abs(value), Math.abs(first))) + relative;
}
