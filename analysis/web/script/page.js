// Builds the page and redraws it when the view, the window size or the theme changes.

import { decodeTables, unpackBytes } from "./columns.js";
import { Tooltip, shortened } from "./elements.js";
import { expose } from "./expose.js";
import { page } from "./page_data.js";
import { describeLink } from "./panels/links.js";
import { memoryScale } from "./panels/memory.js";
import { describeMemory } from "./panels/memory_panel.js";
import { fillFigures, fillIndex, gutterWidth, partsOf, sectionOf } from "./panels/panels.js";
import { perSecond, rowsOf } from "./rows.js";
import { showAllRowsForPrint } from "./tables.js";
import { PAPER_WIDTH, listenToTheme, readTheme } from "./theme.js";
import { Controls, helpDialog, keyActions } from "./timeline/controls.js";
import { Describer } from "./timeline/describe.js";
import { ZOOM_STEP, listenToKeys, listenToPointer } from "./timeline/gestures.js";
import { Minimap } from "./timeline/minimap.js";
import { PAINT_MODES, countsOf, fillLegend } from "./timeline/paints.js";
import { Search } from "./timeline/search.js";
import { Selection } from "./timeline/selection.js";
import { lanesOf } from "./timeline/spans.js";
import { Timeline } from "./timeline/timeline.js";
import { RIGHT_MARGIN, View, drawAxis, ticksOfView } from "./timeline/view.js";

const element = (id) => document.getElementById(id);

async function loadRuns() {
  const runs = await Promise.all(page.runs.map(async (run, i) => {
    const unpack = async ({ name }) =>
      [name, await unpackBytes(element(`${name}-${i}`).textContent)];
    const packed = Object.fromEntries(await Promise.all(page.tables.map(unpack)));
    return { ...run, ...rowsOf(decodeTables(page.tables, packed)) };
  }));
  if (page.at_once) for (const run of runs) run.concurrentRuns = runs.filter((job) => job !== run);
  return runs;
}

class Page {
  constructor(runs) {
    this.runs = runs;
    this.settings = { mode: "kind", lanes: null, counts: countsOf(runs) };
    this.view = new View(Math.max(...runs.map((run) => run.makespan)));
    this.view.changed = () => this.schedule();
    this.describer = new Describer(page.kinds, perSecond, this.view.total);
    this.tooltip = new Tooltip(element("tooltip"));
    const maxBytes = memoryScale(runs);
    this.panels = runs.map((run) => {
      const parts = sectionOf(run, runs.length > 1, this.view, maxBytes);
      parts.section.id = `run-${runs.indexOf(run)}`;
      element("panels").append(parts.section);
      return { run, ...parts, timeline: new Timeline(run, parts.canvas, this.view, this.settings) };
    });
    this.timelines = this.panels.map(({ timeline }) => timeline);
    this.minimap = new Minimap(element("axis"), this.timelines, this.view, this.describer);
    this.selection = new Selection(this.panels, this.view,
                                   (run, target) => this.describer.describe(run, target));
    this.search = new Search(runs, page.kinds);
    this.controls = new Controls(element("tools"), this.settings, this.search, this);
    this.listen();
    [this.width, this.scale] = [element("panels").clientWidth, devicePixelRatio];
    this.resize();
  }

  listen() {
    for (const { run, canvas, memory, links, timeline } of this.panels) {
      const index = this.timelines.indexOf(timeline);
      this.follow(canvas, (x, y) => {
        const target = timeline.at(x, y);
        timeline.overlay.hover(target);
        return target && this.describer.describe(run, target);
      }, (x, y) => this.selection.pick(index, timeline.at(x, y)),
      () => timeline.overlay.hover(null));
      for (const [chart, at] of memory?.targets ?? [])
        this.follow(chart, (x, y) => {
          const target = at(x, y);
          return target && describeMemory(this.describer, run, page.categories, target);
        });
      for (const [chart, at] of links?.targets ?? [])
        this.follow(chart, (x, y) => {
          const target = at(x, y);
          return target && describeLink(this.describer, run, page.traffic, target);
        });
      memory?.listen(canvas, (y) => timeline.layout?.at(y)?.device);
    }
    const actions = keyActions(this);
    this.dialog = helpDialog(actions);
    listenToKeys(actions);
    element("fit").onclick = () => this.view.fit();
    element("closer").onclick = () => this.view.zoom(1 / ZOOM_STEP);
    element("farther").onclick = () => this.view.zoom(ZOOM_STEP);
    new ResizeObserver(() => {
      const width = element("panels").clientWidth;
      if (width === this.width && devicePixelRatio === this.scale) return;
      [this.width, this.scale] = [width, devicePixelRatio];
      this.resize();
    }).observe(element("panels"));
    listenToTheme(element("theme"), (printing) => this.resize(printing));
  }

  // Adds the tables below the timelines after the first paint.
  async finish() {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    this.runs.forEach((run, number) => {
      const section = partsOf(run, this.runs.length > 1);
      section.id = `tables-${number}`;
      element("parts").append(section);
    });
  }

  // Shows a tooltip with the description of the point under the pointer, and a line at its time.
  follow(target, describe, onClick, onLeave = () => {}) {
    let last = null;
    target.addEventListener("pointermove", (event) => { last = event; }, { capture: true });
    listenToPointer(target, this.view, element("selection"), (x, y) => {
      const inside = x !== null && x >= this.view.left && x <= this.view.left + this.view.width;
      element("crosshair").hidden = !inside;
      if (inside) element("crosshair").style.transform = `translateX(${Math.round(x)}px)`;
      const words = x === null ? onLeave() : describe(x, y);
      if (words) this.tooltip.show(last, words);
      else this.tooltip.hide();
    }, onClick);
  }

  // Fits the page's layout to the width of the window, or to paper while printing.
  resize(printing = document.documentElement.classList.contains("printing")) {
    const width = printing ? PAPER_WIDTH : element("panels").clientWidth;
    document.documentElement.classList.toggle("printing", printing);
    showAllRowsForPrint(printing);
    this.view.left = gutterWidth(this.runs, width);
    this.view.width = Math.max(50, width - this.view.left - RIGHT_MARGIN);
    this.restyle();
  }

  restyle() {
    this.theme = readTheme();
    const { splits } = this.ticks();
    this.rebuildTimelines();
    for (const { section, memory, links } of this.panels) {
      for (const chart of memory?.charts ?? []) chart.rebuild(this.theme, splits);
      links?.rebuild(this.theme);
      for (const ramp of section.querySelectorAll(".ramp"))
        ramp.style.background = `linear-gradient(90deg, ${this.theme.ramp})`;
    }
    this.draw();
  }

  rebuildTimelines() {
    for (const timeline of this.timelines) timeline.rebuild(this.theme);
    this.minimap.rebuild();
    fillLegend(element("legend"), page, this.runs, this.timelines, this.settings, this.theme);
    const lanes = this.runs.some((run) => lanesOf(run.lanes).length > 0);
    const shown = this.timelines.some(({ layout }) => layout.lanes.length > 0);
    this.controls.showLanes(lanes && (shown || this.settings.lanes !== true) ? shown : null);
    this.controls.mode.value = this.settings.mode;
  }

  paint(mode) {
    this.settings.mode = mode;
    this.rebuildTimelines();
    this.draw();
  }

  nextPaint() {
    const modes = PAINT_MODES.map(([mode]) => mode);
    this.paint(modes[(modes.indexOf(this.settings.mode) + 1) % modes.length]);
  }

  toggleLanes() {
    this.settings.lanes = !this.timelines.some(({ layout }) => layout.lanes.length > 0);
    this.rebuildTimelines();
    this.draw();
  }

  showMatches() {
    this.timelines.forEach((timeline, index) => {
      timeline.overlay.matches = this.search.marks(index);
      timeline.overlay.draw();
    });
  }

  jump({ run, pass }) {
    this.selection.go(run, pass);
  }

  help() {
    if (this.dialog.open) this.dialog.close();
    else this.dialog.showModal();
  }

  schedule() {
    this.tooltip.hide();
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
      this.drawBelow();
    });
  }

  ticks() {
    const { ticks, unit } = ticksOfView(this.view, perSecond);
    return { ticks, unit, splits: ticks.map((tick) => tick.seconds * perSecond) };
  }

  draw() {
    const { splits, ticks, unit } = this.ticks();
    drawAxis(element("axis"), this.view, ticks, unit, perSecond, this.theme);
    for (const timeline of this.timelines) timeline.draw(splits);
    this.minimap.draw();
  }

  // Redraws the memory and link charts. Large charts take longer than a frame, so they are redrawn
  // when the view has come to rest, or after 800 ms at the latest.
  drawBelow() {
    const rows = this.runs.reduce((sum, run) => sum + run.memory.time.length, 0);
    const lines = this.runs.reduce((sum, run) => sum + run.rows.devices, 0);
    const redraw = () => {
      this.belowDrawn = performance.now();
      const { splits } = this.ticks();
      for (const { memory, links } of this.panels) {
        for (const chart of memory?.charts ?? []) chart.draw(splits);
        links?.draw();
      }
    };
    if (lines <= 24 && rows < 100000) return redraw();
    clearTimeout(this.belowTimer);
    const late = performance.now() - (this.belowDrawn ?? 0) > 800;  // ms
    this.belowTimer = setTimeout(redraw, late ? 0 : 120);
  }
}

async function main() {
  const runNames = page.runs.map((run) => run.name);
  const separator = runNames.some((name) => name.includes(", ")) ? "; " : ", ";
  const names = runNames.join(separator);
  const { name, details } = page.subject;
  document.querySelector("h1").textContent =
    (name ? `${shortened(name, 200)}: ` : "") + shortened(names, 200);
  element("job").textContent = details;
  const runs = await loadRuns();
  fillFigures(element("figures"), runs);
  fillIndex(element("index"), runs);
  const runPage = new Page(runs);
  await runPage.finish();
  expose(runs, runPage);
}

main().catch((error) => {
  element("problem").textContent = `This page cannot be shown: ${error.message}`;
  element("problem").hidden = false;
  throw error;
});
