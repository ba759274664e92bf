// Figures of the best candidate, comparison with the runner-up, and tables of the front and of the best
// candidates.

import {
  barLegend, detailsElement, mark, metricLink, nameElement, shortened, stackedBar,
  textElement, warning
} from "../script/elements.js";
import { sortableTable } from "../script/tables.js";
import { formatBytes, formatPercent, formatSeconds, noBreak } from "../script/units.js";
import { chips, gpuShare, partDifferences, partSeconds, signed, sum } from "./candidate.js";
import {
  OUTCOME, axisName, axisWords, behind, expectedErrorsOf, figureText, isWhole,
  memoryWords, objectiveName, objectiveText, openAxes, search, valueText
} from "./search_data.js";

const MAX_BEST = 200;  // rows of a table; the CSV file holds all rows

export function fillWinner(element, rows, best) {
  if (best === null) {
    const { nearest } = search;
    const words = search.not_looked_at > 0 ? search.none
      : nearest === null ? "Nothing was found."
      : `Nothing was found. The nearest to fitting, ${axisWords(rows, nearest)}, ` +
        `would hold ${memoryWords(rows, nearest)}.`;
    const hint = search.refusal_hint ? ` ${search.refusal_hint}.` : "";
    element.replaceChildren(warning(words + hint));
    return;
  }
  const cards = document.createElement("div");
  cards.className = "cards";
  const add = (anchor, name, value, note = "") => {
    const card = document.createElement("div");
    card.className = "card";
    card.append(anchor ? metricLink(anchor, name) : name, textElement("b", noBreak(value)));
    if (note) card.append(textElement("small", noBreak(note)));
    cards.append(card);
    return card;
  };
  if (objectiveName)
    add("", shortened(search.objective.name, 60), objectiveText(rows.cost[best]));
  for (const figure of search.figures) {
    const text = figureText(rows, figure, best);
    if (text) add(figure.anchor, figure.name, text);
  }
  if (rows.peak[best] > 0) {
    const share = rows.capacity[best] > 0 ? rows.peak[best] / rows.capacity[best] : 0;
    const card = add("memory-peak", "memory", formatBytes(rows.peak[best]),
                     share > 0 ? `${formatPercent(share)} of ${formatBytes(rows.capacity[best])}` : "");
    if (share > 0) {
      const meter = mark("meter");
      const filled = document.createElement("i");
      filled.style.width = `${Math.min(100, 100 * share)}%`;
      meter.append(filled);
      card.append(meter);
    }
  }
  element.replaceChildren(chips(rows, best, null), cards, ...expectedErrorsOf(rows, [best]));
}

// Compares how the runner-up and the best candidate spend their time. Bars to the right are
// activities that take the runner-up longer, bars to the left those that take it less time.
export function fillRunnerUp(element, rows, best, next, onChoose) {
  element.hidden = best === null || next === null;
  if (element.hidden) return;
  const distance = behind(rows.cost[next], rows.cost[best]);
  const head = textElement("h2", "Why the runner-up loses");
  const more = rows.seconds[best] > 0 ? sum(partSeconds(rows, next, best)) - sum(partSeconds(rows, best, best)) : 0;
  head.append(textElement("small", distance === 0 ? "equally good"
    : `${formatPercent(distance)} behind, ` + (gpuShare(rows, next, best) === 1
      ? `${more > 0 ? "+" : ""}${formatSeconds(more)} for the same work`
      : `on ${rows.gpus[next]} GPUs for ${rows.gpus[best]}; bars show GPU time for the same work`)));
  const parts = partDifferences(rows, next, best);
  const widest = Math.max(...parts.map(({ share }) => Math.abs(share)), 1e-12);
  const bars = mark("differences-bars");
  for (const { words, colour, share, seconds } of parts) {
    const field = mark("both-ways");
    const bar = document.createElement("i");
    bar.style.background = colour;
    bar.style.width = `${(50 * Math.abs(share)) / widest}%`;
    bar.style[share > 0 ? "left" : "right"] = "50%";
    field.append(bar);
    const time = gpuShare(rows, next, best) === 1
      ? `, ${seconds > 0 ? "+" : ""}${formatSeconds(seconds)}` : "";
    bars.append(textElement("span", words), field, textElement("span", signed(share) + time));
  }
  const show = textElement("button", "show the runner-up");
  show.onclick = () => onChoose(next);
  element.replaceChildren(head, chips(rows, next, best), bars, show);
}

function candidateTable(rows, list, best, onChoose, maxRows) {
  const differing = openAxes.filter((axis) =>
    list.some((row) => rows.axes[axis][row] !== rows.axes[axis][list[0]]));
  const columns = [{
    head: "behind", anchor: "behind", value: (row) => behind(rows.cost[row], rows.cost[best]),
    cell: (row) => {
      const button = textElement("button", row === best ? "best"
        : formatPercent(behind(rows.cost[row], rows.cost[best])), "choose");
      button.title = "show this candidate";
      button.onclick = () => onChoose(row);
      return button;
    },
  }];
  for (const axis of differing)
    columns.push({ head: axisName(axis),
                   value: (row) => (isWhole(axis) ? Number(search.axes[axis].values[rows.axes[axis][row]])
                                                  : valueText(axis, rows.axes[axis][row])),
                   cell: (row) => (isWhole(axis) ? valueText(axis, rows.axes[axis][row])
                     : nameElement("span", search.axes[axis].values[rows.axes[axis][row]])) });
  const addColumn = (head, anchor, values, text) => {
    if (list.some((row) => text(row) !== ""))
      columns.push({ head, anchor, value: (row) => values[row], cell: (row) => text(row) || "-" });
  };
  if (objectiveName)
    addColumn(objectiveName, "", rows.cost,
              (row) => (rows.cost[row] > 0 ? objectiveText(rows.cost[row]) : ""));
  for (const figure of search.figures)
    addColumn(figure.name, figure.anchor, rows[figure.column], (row) => figureText(rows, figure, row));
  addColumn("memory", "memory-peak", rows.peak,
            (row) => (rows.peak[row] > 0 ? formatBytes(rows.peak[row]) : ""));
  const common = openAxes.filter((axis) => !differing.includes(axis))
    .map((axis) => `${axisName(axis)} ${valueText(axis, rows.axes[axis][list[0]])}`);
  const table = sortableTable(columns, list, maxRows);
  if (common.length > 0 && list.length > 1)
    table.append(textElement("p", `shared by all rows: ${common.join(", ")}`, "note"));
  table.append(...expectedErrorsOf(rows, list));
  return table;
}

export function fillLists(element, rows, { front, ranked, best }, onChoose) {
  element.replaceChildren();
  if (best === null) return;
  const heading = (words, small) => {
    const head = textElement("h2", words);
    head.append(textElement("small", small));
    return head;
  };
  if (front.length > 0) {
    const throughput = search.objective.kind === "tokens_a_day" ? "throughput of an iteration" : "throughput";
    element.append(heading("Pareto front", `no candidate is better in both ${throughput} and memory`),
                   candidateTable(rows, [...front].reverse(), best, onChoose, 16));
  }
  if (ranked.length > 1)
    element.append(heading("Best candidates", `of ${grouped(ranked.length)} simulated`),
                   candidateTable(rows, ranked.slice(0, MAX_BEST), best, onChoose, 10));
}

// Table of how many candidates had each outcome, and why.

const OUTCOME_COLOURS = {
  simulated: "#2b8cbe", bounded_away: "#a6bddb", open: "#d0d1e6", failed: "#b3261e",
  does_not_fit: "#e69f00", illegal: "#9aa3af",
};
const OUTCOME_ORDER = [OUTCOME.simulated, OUTCOME.bounded_away, OUTCOME.open, OUTCOME.failed,
                       OUTCOME.does_not_fit, OUTCOME.illegal];

export const grouped = (count) => (count < 1e15 ? count.toLocaleString("en-US", { maximumFractionDigits: 0 })
                                         : count.toPrecision(2));

export function fillOutcomes(element, rows) {
  const counts = search.outcomes.map(() => 0);
  for (const outcome of rows.outcome) ++counts[outcome];
  const parts = OUTCOME_ORDER.filter((outcome) => counts[outcome] > 0).map((outcome) => ({
    words: outcome === OUTCOME.open ? "not simulated yet" : search.outcomes[outcome],
    fill: OUTCOME_COLOURS[search.outcome_names[outcome]],
    share: counts[outcome] / rows.count,
    text: `${grouped(counts[outcome])}, ${formatPercent(counts[outcome] / rows.count)}`,
  }));
  const cut = search.excluded.reduce((total, { combinations }) => total + combinations, 0);
  const head = textElement("h2", "Outcomes of the candidates");
  const total = search.combinations === null ? "very many" : grouped(search.combinations);
  element.replaceChildren(
    head, textElement("p", `${total} combinations; rules excluded ${grouped(cut)}; ` +
                           `${grouped(rows.count)} candidates remained` +
                           (search.not_looked_at > 0
                             ? `; ${search.not_looked_at_words}: ${grouped(search.not_looked_at)}` : ""), "note"),
    stackedBar(parts), barLegend(parts), ruleList(), ...reasonLists(rows));
}

function ruleList() {
  if (search.excluded.length === 0) return "";
  const list = document.createElement("dl");
  const rules = [...search.excluded].sort((a, b) => b.combinations - a.combinations);
  for (const { rule, combinations } of rules)
    list.append(textElement("dt", grouped(combinations)), textElement("dd", shortened(rule, 300)));
  return detailsElement("rules and the combinations that each excluded", false, list);
}

function reasonLists(rows) {
  return Object.entries(search.reasons).filter(([, reasons]) => reasons.length > 0)
    .map(([outcome, reasons]) => {
      const list = document.createElement("dl");
      for (const { rows: count, row, note } of reasons) {
        const words = textElement("dd", shortened(note || "no reason was given", 400));
        words.append(document.createElement("br"),
                     textElement("small", `for example ${axisWords(rows, row)}`, "note"));
        list.append(textElement("dt", grouped(count)), words);
      }
      if (outcome === "illegal" && search.refusal_hint)
        list.append(textElement("dt", ""), textElement("dd", search.refusal_hint));
      return detailsElement(`${outcome}: the most common reasons`, outcome === "failed", list);
    });
}
