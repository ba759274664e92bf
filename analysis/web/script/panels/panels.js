// Builds the parts of the page that never change: the figures and the sections of each run.

import {
  detailsElement, expectedErrorNotes, mark, nameElement, shortened, textElement
} from "../elements.js";
import { page } from "../page_data.js";
import { FONT } from "../theme.js";
import { LinkPanel, linkTable } from "./links.js";
import { peakMemory } from "./memory.js";
import { MemoryPanel } from "./memory_panel.js";
import { deviceTable, differenceTable, runCards } from "./metrics.js";
import { whyPart } from "./why.js";

// Shows the figures of one run as cards, or of several runs as a table with their differences.
export function fillFigures(place, runs) {
  if (runs.length === 1) {
    place.append(nameElement("p", runs[0].details), runCards(runs[0]));
  } else {
    const wide = mark("wide", "div");
    wide.append(differenceTable(runs));
    place.append(wide);
  }
  place.append(...expectedErrorNotes(runs.map((run) => run.summary)));
}

const MIN_INDEXED_RUNS = 4;

// Links to the sections of each run, for pages with many runs.
export function fillIndex(index, runs) {
  if (runs.length < MIN_INDEXED_RUNS) return;
  const list = document.createElement("ol");
  runs.forEach((run, number) => {
    const item = document.createElement("li");
    const name = nameElement("a", run.name);
    name.href = `#run-${number}`;
    const tables = textElement("a", "tables");
    tables.href = `#tables-${number}`;
    tables.setAttribute("aria-label", `tables of ${shortened(run.name, 200)}`);
    item.append(name, " (", tables, ")");
    list.append(item);
  });
  index.replaceChildren(list);
  index.hidden = false;
}

// The scenario of a run and the facts about its simulation.
function factsOf(run) {
  const details = document.createElement("details");
  details.append(textElement("summary", "scenario"));
  const facts = document.createElement("dl");
  for (const [name, value] of Object.entries(run.facts))
    if (value) facts.append(textElement("dt", name), textElement("dd", value));
  details.append(facts);
  if (run.scenario) details.append(textElement("pre", run.scenario));
  return details;
}

// The panels of a run on the common time axis: timeline, memory, links.
export function sectionOf(run, hasSeveralRuns, view, maxBytes) {
  const section = document.createElement("section");
  const title = document.createElement("h2");
  title.append(nameElement("span", run.name), nameElement("small", run.details));
  const canvas = document.createElement("canvas");
  if (hasSeveralRuns) section.append(title);
  section.append(canvas);
  const memory =
    peakMemory(run.memory) > 0 ? new MemoryPanel(run, page.categories, view, maxBytes) : null;
  const links = LinkPanel.of(run, page.traffic, view);
  for (const panel of [memory, links]) if (panel) section.append(panel.element);
  return { section, canvas, memory, links };
}

// The sections of a run without a time axis: explanation, tables and scenario.
export function partsOf(run, hasSeveralRuns) {
  const section = document.createElement("section");
  if (hasSeveralRuns) section.append(nameElement("h2", run.name));
  if (run.why) section.append(whyPart(run));
  section.append(detailsElement("devices", true, deviceTable(run)));
  if (run.links.length > 0)
    section.append(detailsElement("links: what each carried", false, linkTable(run, page.traffic)));
  section.append(factsOf(run));
  return section;
}

// Width of the margin for device labels in CSS pixels, limited to a range.
export function gutterWidth(runs, pageWidth) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `12px ${FONT}`;
  let widest = 0;
  for (const run of runs)
    run.hosts.forEach((host, device) => {
      const width = context.measureText(`device ${device}`).width;
      const fullWidth = width + 26 + context.measureText(host).width;
      widest = Math.max(widest, width + 12, fullWidth <= pageWidth * 0.22 ? fullWidth : 0);
    });
  return Math.ceil(Math.max(84, widest));
}
