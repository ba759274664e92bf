// Candidates of a search as columns of numbers; search_page.hpp describes the format.

import { unpackBytes } from "../script/columns.js";
import { expectedErrorNotes, printableName, shortened } from "../script/elements.js";
import { page } from "../script/page_data.js";
import { formatBytes, formatPercent, formatRate, formatSeconds } from "../script/units.js";

export const search = page;

// Numbers that stand for outcomes in the rows, by the name of the outcome.
export const OUTCOME = Object.fromEntries(search.outcome_names.map((name, value) => [name, value]));

export async function loadRows() {
  const bytes = await unpackBytes(document.getElementById("rows").textContent);
  const { buffer } = bytes;
  const count = search.rows;
  let at = 0;
  const column = (Type) => {
    const values = new Type(buffer, at, count);
    at += values.byteLength;
    return values;
  };
  const rows = { count };
  for (const name of search.columns) rows[name] = column(Float64Array);
  rows.parts = search.parts.map(() => column(Float64Array));
  rows.note = column(Uint32Array);
  rows.group = column(Uint16Array);
  rows.evidence = column(Uint16Array);
  rows.axes = search.axes.map(() => column(Uint16Array));
  rows.outcome = column(Uint8Array);
  return rows;
}

// Returns the scenario and the launch scripts of a row. The first call unpacks those of all rows.
let scenarioTexts = null;
export async function scenarioOf(row) {
  scenarioTexts ??= unpackBytes(document.getElementById("scenarios").textContent)
    .then((bytes) => new Map(JSON.parse(new TextDecoder().decode(bytes))
      .map(([scenarioRow, text, launches]) => [scenarioRow, {text, launches: launches ?? []}])));
  return (await scenarioTexts).get(row);
}

// Indices of the axes that have more than one value in this search.
export const openAxes = search.axes.map((_, axis) => axis)
  .filter((axis) => search.axes[axis].values.length > 1);

export const isWhole = (axis) => search.axes[axis].values.every((text) => /^-?\d{1,15}$/.test(text));

export const indices = (count, predicate) => {
  const selected = [];
  for (let i = 0; i < count; ++i) if (predicate(i)) selected.push(i);
  return selected;
};

export const axisName = (axis) => shortened(search.axes[axis].name, 40);
export const valueText = (axis, value) => shortened(search.axes[axis].values[value], 60);

export function axisWords(rows, row) {
  const words = openAxes.map((axis) => `${axisName(axis)} ${valueText(axis, rows.axes[axis][row])}`);
  return words.join(", ") || "the only candidate";
}

function formatDuration(seconds) {
  if (seconds >= 2 * 86400) return `${Number((seconds / 86400).toPrecision(4))} days`;
  if (seconds >= 2 * 3600) return `${Number((seconds / 3600).toPrecision(4))} h`;
  return formatSeconds(seconds);
}

function formatMoney(amount) {
  const currency = printableName(search.objective.currency);
  const number = amount < 1000 ? amount.toFixed(2)
    : bareRate(amount);
  return /[A-Za-z0-9]$/.test(currency) ? `${number} ${currency}` : `${currency}${number}`;
}

const objectiveTexts = {
  throughput: (cost) => formatRate(1 / cost, search.objective.unit),
  mfu: (cost) => formatPercent(1 / cost),
  time_to_train: formatDuration,
  price: formatMoney,
  memory: formatBytes,
  tokens_a_day: (cost) => `${formatScaled(1 / cost)} ${search.objective.unit} a day`,
};
export const objectiveText = (cost) => (cost > 0 ? objectiveTexts[search.objective.kind](cost) : "unknown");
export const objectiveName = { time_to_train: "time to train", price: "price", tokens_a_day: "a day" }[
  search.objective.kind];
export const moreIsBetter = ["throughput", "mfu", "tokens_a_day"].includes(search.objective.kind);

// Returns by which share a candidate is worse than the best, as findings.hpp defines it.
export function behind(cost, best) {
  if (!(best > 0) || cost === best) return 0;
  return moreIsBetter ? 1 - best / cost : cost / best - 1;
}

// Paragraphs with the expected errors of candidates.
export const expectedErrorsOf = (rows, list) =>
  expectedErrorNotes(list.map((row) => search.evidence[rows.evidence[row]]));

// Formats a count in thousands, millions and billions.
const formatScaled = (value) => bareRate(value).replace("G", "B");
const bareRate = (perSecond) => formatRate(perSecond, "").replace(/ ?\/s$/, "");

// Effective training time of a goodput run: the work done in a day relative to a day without failures.
const effectivePart = (rows, row) => (search.objective.kind === "tokens_a_day" && rows.cost[row] > 0
  ? 1 / (rows.cost[row] * rows.throughput[row] * 86400) : 0);

// Functions that write a figure of each form, with the `item` that an amount or a rate counts, and the label
// of a tick, without the item.
const FORMS = {
  count: { text: (value) => value.toLocaleString("en-US"), tick: (value) => value.toLocaleString("en-US") },
  amount: { text: (value, item) => `${formatScaled(value)} ${item}`, tick: formatScaled },
  rate: { text: formatRate, tick: bareRate },
  bytes: { text: formatBytes, tick: formatBytes },
  seconds: { text: formatSeconds, tick: (value) => formatSeconds(value).replace(/\.?0+ /, " ") },
  ratio: { text: formatPercent, tick: (value) => `${Number((100 * value).toPrecision(4))} %` },
};

// Returns the value of a candidate's figure as text, with words that restrict it; empty if it is
// unknown. `figure` is an element of search.figures.
export function figureText(rows, figure, row) {
  const simulated = rows.outcome[row] === OUTCOME.simulated;
  const value = rows[figure.column][row];
  const isKnown = value > 0 || figure.can_be_zero;
  if (!isKnown || (!simulated && figure.bound_words === null)) return "";
  return (simulated ? "" : figure.bound_words) + FORMS[figure.form].text(value, figure.item);
}

// Measures for the vertical axis: figures, and the objective if it is none. Rows without a measure have 0.
// `tick` formats labels without the unit that `title` names.
export function measures(rows) {
  const candidates = search.figures.filter(({ axis }) => axis !== "")
    .map(({ column, name, axis_title: title, axis, form, is_timed: isTimed }) => ({
      column, name, title, form, isTimed, up: axis === "more is better", tick: FORMS[form].tick,
      value: (row) => rows[column][row],
    }));
  if (objectiveName && moreIsBetter)
    candidates.unshift({ name: objectiveName, title: `${search.objective.unit} a day`, up: true,
                  isTimed: true, tick: formatScaled, value: (row) => (rows.cost[row] > 0 ? 1 / rows.cost[row] : 0) });
  else if (objectiveName)
    candidates.push({ name: objectiveName, title: search.objective.name,
               isTimed: true, value: (row) => rows.cost[row], up: false, tick: objectiveText });
  return candidates.filter(({ value }) => indices(rows.count, (row) => value(row) > 0).length > 0);
}

export function memoryWords(rows, row) {
  const peak = rows.peak[row];
  if (!(peak > 0)) return "";
  const capacity = rows.capacity[row];
  return capacity > 0 ? `${formatBytes(peak)} of ${formatBytes(capacity)}` : formatBytes(peak);
}

// Names and values of a candidate's known figures.
export function figureLines(rows, row, best) {
  const lines = [];
  const outcome = rows.outcome[row];
  const simulated = outcome === OUTCOME.simulated;
  const [throughput, ...otherFigures] = search.figures;
  const addFigure = (figure) => {
    const text = figureText(rows, figure, row);
    if (text) lines.push([figure.name, text]);
  };
  if (!simulated) lines.push(["outcome", search.outcomes[outcome]]);
  const note = search.notes[rows.note[row]];
  if (note) lines.push(["reason", shortened(note, 300)]);
  addFigure(throughput);
  if (objectiveName && rows.cost[row] > 0)
    lines.push([objectiveName, (simulated ? "" : "at best ") + objectiveText(rows.cost[row])]);
  const effective = effectivePart(rows, row);
  if (effective > 0)
    lines.push(["effective time", (simulated ? "" : "at best ") + formatPercent(effective)]);
  if (best !== null && best !== row && rows.cost[row] > 0 && simulated)
    lines.push(["behind", formatPercent(behind(rows.cost[row], rows.cost[best]))]);
  otherFigures.forEach(addFigure);
  if (simulated && rows.bound[row] > 0)
    lines.push(["its bound", formatSeconds(rows.bound[row])]);
  if (rows.peak[row] > 0) lines.push(["memory", memoryWords(rows, row)]);
  if (rows.gpus[row] > 0) lines.push(["GPUs", String(rows.gpus[row])]);
  lines.push(["candidate", String(rows.candidate[row])]);
  return lines;
}
