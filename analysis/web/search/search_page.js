// Connects the parts of the page: holds the selected candidate and redraws the parts that depend on it.

import { Tooltip, shortened, textElement, warning } from "../script/elements.js";
import { showAllRowsForPrint } from "../script/tables.js";
import { PAPER_WIDTH, listenToTheme, readTheme } from "../script/theme.js";
import { fillCandidate } from "./candidate.js";
import { fillHeatMap } from "./heat_map.js";
import { MAX_LINES, Parallel } from "./parallel.js";
import { Scatter } from "./scatter.js";
import {
  OUTCOME, axisName, axisWords, figureLines, indices, loadRows, measures, openAxes, search
} from "./search_data.js";
import { fillLists, fillOutcomes, fillRunnerUp, fillWinner, grouped } from "./search_lists.js";
import { Paint, markEntry, traceCross, tracePath } from "./search_paint.js";
import { fillWinnerAnswers } from "./winner_answers.js";

const element = (id) => document.getElementById(id);

function fillSelect(select, entries, chosen, onChange) {
  select.replaceChildren(...entries.map(([value, words]) => {
    const option = textElement("option", words);
    option.value = String(value);
    return option;
  }));
  select.value = String(chosen);
  select.onchange = () => onChange(select.value);
}

const NO_MEASURE = {
  column: "throughput", name: "throughput", title: "throughput", value: () => 0, up: true, tick: String,
};

class SearchPage {
  constructor(rows) {
    this.rows = rows;
    this.theme = readTheme();
    this.tooltip = new Tooltip(element("tooltip"));
    this.allMeasures = measures(rows);
    this.measure = this.allMeasures[0] ?? NO_MEASURE;
    this.colourAxis = openAxes.includes(search.axes.length - 1) ? search.axes.length - 1
                                                                : openAxes.at(-1) ?? null;
    this.scatter = new Scatter(element("scatter"), this, {
      onPoint: (row, event) => this.point(row, event),
      onClick: (row) => this.choose(row),
    });
    this.parallel = new Parallel(element("parallel"), this, () => this.drawCharts());
    this.matches = (row) => this.parallel.matches(row);
    this.fillControls();
    this.takeGroup(search.best === null ? 0 : rows.group[search.best]);
    listenToTheme(element("theme"), (printing) => this.resize(printing));
    let width = window.innerWidth;
    addEventListener("resize", () => {
      if (width === window.innerWidth) return;
      width = window.innerWidth;
      this.resize();
    });
    element("scatter").addEventListener("keydown", (event) => this.key(event));
  }

  fillControls() {
    const { rows } = this;
    element("choose-group").hidden = search.groups.length < 2;
    const best = search.best === null ? 0 : rows.group[search.best];
    fillSelect(element("group"), search.groups.map((name, i) => [i, shortened(name, 80)]), best,
               (value) => { this.takeGroup(Number(value)); this.resize(); });
    const notes = element("run-notes");
    notes.hidden = search.run_notes.length === 0;
    notes.querySelector("ul").replaceChildren(...search.run_notes.map((note) => textElement("li", note)));
    const sureness = element("sureness");
    sureness.hidden = search.winner.length === 0;
    fillWinnerAnswers(sureness.querySelector("div"), search.winner);
    element("decision").hidden = search.decision.length === 0;
    fillWinnerAnswers(element("decision"), search.decision);
    fillSelect(element("measure"), this.allMeasures.map(({ name }, i) => [i, shortened(name, 60)]), 0,
               (value) => { this.measure = this.allMeasures[Number(value)]; this.drawCharts(); });
    fillSelect(element("colour"), openAxes.map((axis) => [axis, axisName(axis)]), this.colourAxis,
               (value) => { this.colourAxis = Number(value); this.drawCharts(); });
    element("bounded").onchange = () => { this.takeDrawn(); this.drawCharts(); };
    element("clear-brushes").onclick = () => this.parallel.clear();
    const varied = openAxes.length > 1;
    element("heat").hidden = !varied;
    element("colour").parentElement.hidden = openAxes.length === 0;
    if (!varied) return;
    const byValues = [...openAxes].sort((a, b) =>
      search.axes[b].values.length - search.axes[a].values.length);
    this.across = byValues[0];
    this.down = openAxes.at(-1) === this.across ? byValues[1] : openAxes.at(-1);
    const axes = openAxes.map((axis) => [axis, axisName(axis)]);
    for (const side of ["across", "down"])
      fillSelect(element(`heat-${side}`), axes, this[side], (value) => {
        const opposite = side === "across" ? "down" : "across";
        if (this[opposite] === Number(value)) this[opposite] = this[side];  // swaps the axes
        this[side] = Number(value);
        element(`heat-${opposite}`).value = String(this[opposite]);
        this.drawHeat();
      });
  }

  // Shows a group of candidates: those of one model on one cluster.
  takeGroup(group) {
    const { rows } = this;
    this.group = group;
    this.shown = indices(rows.count, (row) => rows.group[row] === group);
    this.best = search.best_of_group[group] ?? null;
    this.front = search.fronts[group] ?? [];
    this.ranked = this.shown
      .filter((row) => rows.outcome[row] === OUTCOME.simulated && rows.cost[row] > 0)
      .sort((a, b) => rows.cost[a] - rows.cost[b] || rows.peak[a] - rows.peak[b] || a - b);
    this.byMemory = [...this.ranked].sort((a, b) => rows.peak[a] - rows.peak[b]);
    this.capacity = rows.capacity[this.shown.find((row) => rows.capacity[row] > 0)] ?? 0;
    this.chosen = this.best;
    this.parallel.brushes.clear();
    this.takeDrawn();
    fillWinner(element("winner"), rows, this.best);
    element("proof").textContent = search.proof;
    if (search.failed_hopes.length > 0)
      element("proof").append("; ", warning(`${grouped(search.failed_hopes.length)} failed candidates ` +
                                            "might be better, " +
                                            `for example ${axisWords(rows, search.failed_hopes[0])}`));
    fillRunnerUp(element("runner-up"), rows, this.best, this.runnerUp(), (row) => this.choose(row));
    fillLists(element("lists"), rows, this, (row) => this.choose(row));
    this.fillCard();
  }

  // The best candidate that differs from the winner in time or memory, or else the second best.
  runnerUp() {
    const { seconds, peak } = this.rows;
    const rivals = this.ranked.filter((row) => row !== this.best);
    return rivals.find((row) => seconds[row] !== seconds[this.best] || peak[row] !== peak[this.best]) ??
           rivals[0] ?? null;
  }

  takeDrawn() {
    const { rows } = this;
    const of = (outcome) => this.shown.filter((row) => rows.outcome[row] === outcome && rows.peak[row] > 0);
    const timed = (list) => list.filter((row) => rows.seconds[row] > 0);
    const bounded = timed([...of(OUTCOME.bounded_away), ...of(OUTCOME.open)]);
    element("bounded-label").hidden = bounded.length === 0;
    this.drawn = {
      simulated: of(OUTCOME.simulated),
      bounded: element("bounded").checked ? bounded : [],
      failed: timed(of(OUTCOME.failed)),
      misfits: of(OUTCOME.does_not_fit),
    };
  }

  resize(printing = document.documentElement.classList.contains("printing")) {
    document.documentElement.classList.toggle("printing", printing);
    showAllRowsForPrint(printing);
    this.theme = readTheme();
    this.drawCharts();
    this.drawHeat();
  }

  drawCharts() {
    const printing = document.documentElement.classList.contains("printing");
    this.paint = new Paint(this.colourAxis, this.theme);
    const whole = printing ? PAPER_WIDTH : element("panels").clientWidth;
    const wide = document.querySelector(".split > div");
    this.drawn.any = this.drawn.simulated.length + this.drawn.bounded.length + this.drawn.failed.length;
    element("tradeoff").hidden = element("side-by-side").hidden = this.drawn.any === 0;
    if (this.drawn.any === 0) return;
    const lines = this.drawn.simulated.length + this.drawn.bounded.length;
    element("side-by-side").hidden = openAxes.length === 0 || lines < 2;
    const { matching, shown, total } = this.parallel.draw(whole);
    this.scatter.draw(printing ? Math.min(whole, 600) : wide.clientWidth);
    this.fillScatterLegend();
    element("clear-brushes").hidden = this.parallel.brushes.size === 0;
    element("parallel-words").textContent =
      (this.parallel.brushes.size > 0 ? `${grouped(matching)} of ${grouped(total)} candidates match. ` : "") +
      (shown < total ? `One line in ${Math.ceil(total / MAX_LINES)} is drawn. ` : "") +
      "Drag along an axis to keep only the lines through that range.";
  }

  fillScatterLegend() {
    const { rows, paint, theme, drawn } = this;
    const used = new Set();
    for (const list of [drawn.simulated, drawn.bounded, drawn.failed])
      for (const row of list) used.add(paint.valueOf(rows, row));
    const entries = paint.legend(used).map(({ colour, shape, words }) => markEntry((ctx) => {
      ctx.fillStyle = colour;
      ctx.beginPath();
      tracePath(ctx, shape, 8, 7, 4.5);
      ctx.fill();
    }, words));
    const stroke = (words, trace) => entries.push(markEntry((ctx) => {
      ctx.strokeStyle = ctx.fillStyle = theme.ink;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      trace(ctx);
    }, words));
    if (this.front.length > 0 && this.measure.column === "throughput")
      stroke("front", (ctx) => { tracePath(ctx, "circle", 8, 7, 5); ctx.stroke(); });
    if (drawn.bounded.length > 0)
      stroke("not simulated, at its bound", (ctx) => { ctx.rect(6.5, 5.5, 2.5, 2.5); ctx.fill(); });
    if (drawn.failed.length > 0)
      stroke("failed, at its bound", (ctx) => { traceCross(ctx, 8, 7, 3.5); ctx.stroke(); });
    if (drawn.misfits.length > 0)
      stroke("does not fit", (ctx) => { ctx.rect(7.5, 3, 1, 8); ctx.fill(); });
    if (this.scatter.shownBands().length > 0)
      stroke("90 % of the draws", (ctx) => {
        ctx.moveTo(8, 2);
        ctx.lineTo(8, 12);
        ctx.stroke();
      });
    element("scatter-legend").replaceChildren(...entries);
    element("tradeoff-name").textContent =
      `${this.measure.name[0].toUpperCase()}${this.measure.name.slice(1)} against memory`;
  }

  drawHeat() {
    if (this.across === undefined) return;
    fillHeatMap(element("heat-map"), element("heat-legend"), this, this.across, this.down,
                (row) => this.choose(row, true));
  }

  fillCard() {
    const { chosen } = this;
    fillCandidate(element("candidate"), this.rows, chosen, this.best, () => this.chosen === chosen);
  }

  choose(row, scroll = false) {
    this.chosen = row;
    this.tooltip.hide();
    this.fillCard();
    this.scatter.drawOverlay();
    if (!element("side-by-side").hidden) this.parallel.drawChosen();
    const { top, bottom } = element("candidate").getBoundingClientRect();
    if (scroll || bottom < 40 || top > window.innerHeight - 40)
      element("candidate").scrollIntoView({ block: "nearest" });
  }

  point(row, event) {
    if (row === null) return this.tooltip.hide();
    this.tooltip.show(event, { head: axisWords(this.rows, row),
                               lines: figureLines(this.rows, row, this.best) });
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || this.ranked.length === 0) return;
    const step = (list, by) => {
      const at = list.indexOf(this.chosen);
      return list[Math.min(list.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    };
    const moves = {
      ArrowLeft: () => step(this.byMemory, -1),
      ArrowRight: () => step(this.byMemory, 1),
      ArrowUp: () => step(this.ranked, -1),
      ArrowDown: () => step(this.ranked, 1),
      Home: () => this.best,
      Escape: () => this.best,
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    this.choose(moves[event.key]());
  }
}

async function main() {
  const title = search.title || "search";
  const subject = search.groups.length === 1 ? search.groups[0] : title;
  document.querySelector("h1").textContent =
    `${shortened(subject, 160)}: ${shortened(search.objective.name, 80)}`;
  element("sweep-name").textContent = subject === title ? "" : title;
  const rows = await loadRows();
  const searchPage = new SearchPage(rows);
  fillOutcomes(element("outcomes"), rows);
  searchPage.resize();
  // Interface for tests and the console.
  window.pipewright = {
    rows, search, page: searchPage,
    place(row) {
      const { left, top } = element("scatter").getBoundingClientRect();
      const { x, y } = searchPage.scatter.place(row);
      return { x: x + left, y: y + top };
    },
  };
}

main().catch((error) => {
  element("problem").textContent = `This page cannot be shown: ${error.message}`;
  element("problem").hidden = false;
  throw error;
});
