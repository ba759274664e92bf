// Heat map of the best candidate for each pair of values of two axes.

import { mark, nameElement, textElement } from "../script/elements.js";
import { rampColour } from "../script/theme.js";
import {
  OUTCOME, axisName, moreIsBetter, objectiveText, search, valueText
} from "./search_data.js";

const MAX_VALUES = 40;

// Returns the cells of the heat map by pair of values. Each holds the candidate with the best
// simulated result, the one with the best lower bound, and the number of candidates with each
// outcome.
function fillCells(rows, shown, across, down) {
  const cells = new Map();
  const better = (a, b) => b === null || rows.cost[a] < rows.cost[b];
  for (const row of shown) {
    const key = rows.axes[across][row] * 65536 + rows.axes[down][row];
    let cell = cells.get(key);
    if (!cell) {
      cell = { best: null, bound: null, outcomes: search.outcomes.map(() => 0) };
      cells.set(key, cell);
    }
    const outcome = rows.outcome[row];
    ++cell.outcomes[outcome];
    if (!(rows.cost[row] > 0)) continue;
    if (outcome === OUTCOME.simulated) {
      if (better(row, cell.best)) cell.best = row;
    } else if (better(row, cell.bound)) {
      cell.bound = row;
    }
  }
  return cells;
}

const emptyKinds = [
  ["none-fits", "none fits", (outcomes) => outcomes[OUTCOME.does_not_fit] > 0],
  ["none-legal", "none is legal", (outcomes) => outcomes[OUTCOME.illegal] > 0],
];

// Formats the objective of a candidate without its unit, which would not fit into a cell.
function shortNumber(rows, row) {
  return objectiveText(rows.cost[row]).replace(/ ?(tokens|samples)\/s$/, "").replace(/ %$/, "");
}

function heatCell(rows, cell, minCost, maxCost, theme, onChoose, words) {
  const field = document.createElement("td");
  if (!cell) {
    field.className = "none";
    field.title = `${words}: no candidate`;
    return field;
  }
  const row = cell.best ?? cell.bound;
  if (row === null) {
    const [kind, text] = emptyKinds.find(([, , has]) => has(cell.outcomes)) ??
      ["none-legal", "below the floor"];
    field.className = kind;
    field.title = `${words}: ${text}`;
    return field;
  }
  const cost = rows.cost[row];
  const button = textElement("button", shortNumber(rows, row));
  button.title = `${words}: ${cell.best === null ? "at best " : ""}` +
                 objectiveText(cost);
  if (cell.best === null) {
    field.className = "bounded-only";
    button.title += ", not simulated";
  } else {
    // Colours are interpolated linearly in the number that the cell shows.
    const value = (amount) => (moreIsBetter ? 1 / amount : -amount);
    const span = value(minCost) - value(maxCost);
    const share = span > 0 ? (value(cost) - value(maxCost)) / span : 1;
    button.style.background = rampColour(theme.ramp, share);
    button.style.color = inkOn(button.style.background);
  }
  button.onclick = () => onChoose(row);
  field.append(button);
  return field;
}

// Returns black or white, whichever is readable on the background; the same rule as in palette.hpp.
function inkOn(colour) {
  const [r, g, b] = colour.match(/\d+/g).map((channel) => {
    const c = channel / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

// Returns the values of an axis that occur among the candidates. If there are too many, only those
// of the best candidates.
function usedValues(rows, shown, axis) {
  const best = new Map();
  for (const row of shown) {
    const value = rows.axes[axis][row];
    const cost = rows.cost[row] > 0 ? rows.cost[row] : Infinity;
    best.set(value, Math.min(best.get(value) ?? Infinity, cost));
  }
  const bestValues = [...best.entries()].sort((a, b) => a[1] - b[1] || a[0] - b[0])
    .slice(0, MAX_VALUES);
  return { values: bestValues.map(([value]) => value).sort((a, b) => a - b),
           left: best.size - bestValues.length };
}

export function fillHeatMap(element, legend, { rows, shown, theme }, across, down, onChoose) {
  const cells = fillCells(rows, shown, across, down);
  const columns = usedValues(rows, shown, across);
  const lines = usedValues(rows, shown, down);
  const costs = [...cells.values()].filter(({ best }) => best !== null).map(({ best }) => rows.cost[best]);
  const minCost = Math.min(...costs);
  const maxCost = Math.max(...costs);
  const table = document.createElement("table");
  table.className = "heat";
  const head = table.createTHead().insertRow();
  const corner = textElement("th", `${axisName(down)} \\ ${axisName(across)}`);
  head.append(corner);
  for (const value of columns.values) {
    const cell = nameElement("th", valueText(across, value));
    cell.scope = "col";
    head.append(cell);
  }
  const body = table.createTBody();
  for (const value of lines.values) {
    const line = body.insertRow();
    const name = nameElement("th", valueText(down, value));
    name.scope = "row";
    line.append(name);
    for (const column of columns.values) {
      const words = `${axisName(down)} ${valueText(down, value)}, ` +
                    `${axisName(across)} ${valueText(across, column)}`;
      line.append(heatCell(rows, cells.get(column * 65536 + value), minCost, maxCost, theme, onChoose, words));
    }
  }
  element.replaceChildren(table);
  fillHeatLegend(legend, costs, minCost, maxCost, theme, columns.left + lines.left);
}

function fillHeatLegend(legend, costs, minCost, maxCost, theme, left) {
  const entry = (className, words) => {
    const sample = mark("entry");
    sample.append(mark(`sample ${className}`), words);
    return sample;
  };
  const entries = [];
  if (minCost < maxCost) {
    const ramp = mark("ramp");
    ramp.style.background = `linear-gradient(90deg, ${theme.ramp})`;
    const scale = mark("entry");
    scale.append(objectiveText(maxCost), ramp, objectiveText(minCost));
    entries.push(scale);
  }
  entries.push(entry("bounded-only", "bound, not simulated"), entry("none-fits", "none fits"),
               entry("none-legal", "none is legal"), entry("none", "no candidate"));
  if (left > 0) entries.push(`${left} values with worse candidates are not shown`);
  legend.replaceChildren(...entries);
}
