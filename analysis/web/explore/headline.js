// The main figures of a run, and their differences to those of the reference variant if there is
// one.

import { textElement } from "../script/elements.js";
import { RUN_METRICS, formatDifference, runCards } from "../script/panels/metrics.js";
import { formatPercent, noBreak } from "../script/units.js";

// Returns the fastest run of those with several schedules.
export const fastestOf = (runs) =>
  runs.reduce((best, run) => (run.summary.makespan_s < best.summary.makespan_s ? run : best));

export function headlineOf(runs, reference) {
  const run = fastestOf(runs);
  const cards = runCards(run);
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

export function changeText({ unit }, value, first) {
  const sign = value < first ? "\u2212" : "+";
  const relative = first !== 0 && unit !== "share"
    ? ` (${sign}${formatPercent(Math.abs(value - first) / Math.abs(first))})` : "";
  return formatDifference(value - first, unit, Math.max(Math.abs(value), Math.abs(first))) + relative;
}
