// Use of the busiest links over time. Each link has a strip as high as its bandwidth, in which the
// classes of traffic are stacked. A bar above the strip marks contention between flows. Traffic of
// concurrent jobs is drawn from the top down, so that the space between is free bandwidth.

import {
  captionLine, colourEntry, detailsElement, nameElement, shortened, textElement
} from "../elements.js";
import { TRAFFIC, firstAbove, perSecond } from "../rows.js";
import { sortableTable } from "../tables.js";
import { FONT, sizeCanvas } from "../theme.js";
import { RIGHT_MARGIN } from "../timeline/view.js";
import { formatBandwidth, formatBytes, formatPercent, formatSeconds } from "../units.js";

const STRIP_HEIGHT = 30;
const STRIP_GAP = 5;
const WAIT_BAR = 4;
const STRIP_ROOM = STRIP_HEIGHT - STRIP_GAP - WAIT_BAR;
const FIRST_STRIPS = 8;
const CONCURRENT_ALPHA = 0.4;

// Returns the concurrent jobs that use a link of this run, each with the index of the link in its
// own list.
function jobsOnLink(run, link) {
  const { name } = run.links[link];
  return (run.concurrentRuns ?? []).flatMap((job) => {
    job.linkNumbers ??= new Map(job.links.map((entry, number) => [entry.name, number]));
    const number = job.linkNumbers.get(name);
    return number === undefined ? [] : [{ job, number }];
  });
}

// Share of a link's bandwidth that the other concurrent jobs use at a point in time, from 0 to 1.
function concurrentShare(run, link, time) {
  let sum = 0;
  for (const { job, number } of jobsOnLink(run, link)) {
    const { low, high } = pieceAt(job.use, number, time);
    for (let row = low; row < high; ++row)
      sum += shareOf(job.use, row, job.links[number].bandwidth);
  }
  return sum;
}

class LinkStrips {
  constructor(run, traffic, canvas, view) {
    this.run = run;
    this.traffic = traffic;
    this.canvas = canvas;
    this.view = view;
    this.timed = [...run.links.keys()].filter((link) => hasPieces(run.use, link, run.makespan));
    this.isShared = this.timed.some((link) => jobsOnLink(run, link).length > 0);
    if (this.isShared)  // shared links come first
      this.timed.sort((a, b) => jobsOnLink(run, b).length - jobsOnLink(run, a).length);
    this.shown = this.timed.slice(0, FIRST_STRIPS);
  }

  showAll() {
    this.shown = this.timed;
    this.draw();
  }

  rebuild(theme) {
    this.theme = theme;
    this.draw();
  }

  draw() {
    const { canvas, view, theme } = this;
    const height = this.shown.length * STRIP_HEIGHT;
    const scale = sizeCanvas(canvas, view.left + view.width + RIGHT_MARGIN, height);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = `11px ${FONT}`;
    context.textBaseline = "middle";
    this.shown.forEach((link, k) => {
      const top = k * STRIP_HEIGHT;
      this.label(context, link, top);
      context.save();
      context.beginPath();
      context.rect(view.left, top, view.width, STRIP_HEIGHT);
      context.clip();
      const until = view.x(this.run.makespan);
      context.fillStyle = theme.idle;
      context.fillRect(view.left, top + WAIT_BAR, until - view.left, STRIP_ROOM);
      this.pieces(context, link, top, 1 / scale);
      this.concurrentJobs(context, link, top, 1 / scale);
      context.restore();
    });
  }

  // Shortens the name to the width of the gutter; the tooltip shows the full name.
  label(context, link, top) {
    const { name } = this.run.links[link];
    const room = this.view.left - 8;
    let text = shortened(name, 60);
    let letters = [...text].length;
    while (context.measureText(text).width > room && letters > 1) text = shortened(name, --letters);
    context.fillStyle = this.theme.ink;
    context.textAlign = "left";
    context.fillText(text, 0, top + WAIT_BAR + STRIP_ROOM / 2);
  }

  // Draws a link's use as stacked bars, one stack per recorded period. `pixel` is the size of a
  // screen pixel in CSS pixels; bars end on whole screen pixels.
  pieces(context, link, top, pixel) {
    const { view, run: { use, links }, traffic, theme } = this;
    const { bandwidth } = links[link];
    const height = STRIP_ROOM;
    const snap = (x) => Math.round(x / pixel) * pixel;
    const end = use.first[link + 1];
    let i = firstAbove(use.end, use.first[link], end, view.from);
    while (i < end && use.start[i] < view.to) {
      const next = nextPiece(use, i, end);
      const left = snap(view.x(use.start[i]));
      const width = Math.max(pixel, snap(view.x(use.end[i])) - left);
      let bottom = top + WAIT_BAR + height;
      let [flows, waited] = [0, 0];
      for (let row = i; row < next; ++row) {
        const share = shareOf(use, row, bandwidth);
        // Traffic is drawn at least one pixel high, however little it is.
        const part = Math.min(Math.max(share * height, pixel), bottom - top - WAIT_BAR);
        context.fillStyle = traffic[use.traffic[row]].fill;
        context.fillRect(left, bottom - part, width, part);
        bottom -= part;
        flows += use.flows[row];
        waited += use.waited[row];
      }
      if (waited > 0) {
        context.globalAlpha = 0.35 + 0.65 * Math.min(1, waited / Math.max(flows, waited));
        context.fillStyle = theme.accent;
        context.fillRect(left, top, width, WAIT_BAR - 1);
        context.globalAlpha = 1;
      }
      i = next;
    }
  }

  // Draws the summed use by concurrent jobs for each column of pixels, since their periods differ.
  concurrentJobs(context, link, top, pixel) {
    const { view, run, theme } = this;
    const sums = new Float64Array(Math.ceil(view.width / pixel) + 1);
    for (const { job, number } of jobsOnLink(run, link)) {
      const { use, links } = job;
      for (let i = use.first[number]; i < use.first[number + 1]; ++i) {
        if (use.end[i] <= view.from || use.start[i] >= view.to) continue;
        const column = (time) => Math.round((view.x(time) - view.left) / pixel);
        const from = Math.max(0, column(use.start[i]));
        const share = shareOf(use, i, links[number].bandwidth);
        for (let k = from; k < Math.min(sums.length, Math.max(from + 1, column(use.end[i]))); ++k)
          sums[k] += share;
      }
    }
    context.fillStyle = theme.ink;
    context.globalAlpha = CONCURRENT_ALPHA;
    sums.forEach((share, k) => {
      if (share > 0)
        context.fillRect(view.left + k * pixel, top + WAIT_BAR, pixel,
                         Math.max(pixel, Math.min(1, share) * STRIP_ROOM));
    });
    context.globalAlpha = 1;
  }

  at(x, y) {
    const time = this.view.time(x);
    const link = this.shown[Math.floor(y / STRIP_HEIGHT)];
    if (link === undefined || time < 0 || time > this.run.makespan) return null;
    return { link, time: x < this.view.left ? null : time };
  }
}

// Share of the link's bandwidth that one class of traffic uses during the period of a row.
function shareOf(use, row, bandwidth) {
  const seconds = (use.end[row] - use.start[row]) / perSecond;
  return bandwidth > 0 && seconds > 0 ? use.bytes[row] / (bandwidth * seconds) : 0;
}

// Description of a link's use at a time, for the tooltip.
export function describeLink(describer, run, traffic, { link, time }) {
  const { name, bandwidth, alike } = run.links[link];
  const lines = [["bandwidth", formatBandwidth(bandwidth)]];
  if (alike > 1) lines.push(["stands for", `${alike} links with the same use`]);
  const head = shortened(name, 120);
  if (time === null) return { head, lines };
  lines.push(["at", describer.instant(time)]);
  const { use } = run;
  const { low, high } = pieceAt(use, link, time);
  const concurrentUse = concurrentShare(run, link, time);
  if (concurrentUse > 0) lines.push(["other jobs", formatPercent(concurrentUse)]);
  if (low === high) return { head, lines: [...lines, ["carries", "nothing"]] };
  const length = use.end[low] - use.start[low];
  lines.push(["in a piece of", describer.length(length)]);
  let [used, flows, waited] = [0, 0, 0];
  for (let row = low; row < high; ++row) {
    const share = shareOf(use, row, bandwidth);
    used += share;
    flows += use.flows[row];
    waited += use.waited[row];
    const { words } = traffic[use.traffic[row]];
    lines.push([words, `${formatBytes(use.bytes[row])}, ${formatPercent(share)}`]);
  }
  lines.push(["bandwidth in use", formatPercent(used)],
             ["flows at once", (flows / length).toFixed(2)]);
  if (waited > 0)
    lines.push(["waited for others",
                `${describer.length(waited)} of ${describer.length(flows)} of flows`]);
  return { head, lines };
}

// Returns the first row after `i` that belongs to a later period; a period has a row per traffic
// class.
function nextPiece(use, i, end) {
  const { start } = use;
  let next = i + 1;
  while (next < end && start[next] === start[i]) ++next;
  return next;
}

// True if a link's use is recorded for short periods rather than as one average over the run.
function hasPieces(use, link, makespan) {
  for (let i = use.first[link]; i < use.first[link + 1]; ++i)
    if (use.end[i] - use.start[i] <= makespan / 2) return true;
  return false;
}

// Returns the range of rows, low to high - 1, whose period contains a time; empty if the link is
// idle.
export function pieceAt(use, link, time) {
  const [begin, end] = [use.first[link], use.first[link + 1]];
  const after = firstAbove(use.start, begin, end, time);
  let low = after;
  while (low > begin && use.start[low - 1] === use.start[after - 1]) --low;
  return low < after && use.end[low] > time ? { low, high: after } : { low: after, high: after };
}

const LACKS_COLLECTIVES = "Collectives within passes are not included, since this run timed them " +
  "apart from the links; communication.detail: full includes them.";

// True if passes wait for collectives that were not simulated on links.
function lacksCollectives({ lanes, use }) {
  return !use.traffic.includes(TRAFFIC.indexOf("in_passes")) &&
    [...lanes.waits.values()].flat().some((ticks) => ticks > 0);
}

// The strips of a run's busiest links, with their legend.
export class LinkPanel {
  constructor(run, traffic, view) {
    this.run = run;
    this.canvas = document.createElement("canvas");
    this.strips = new LinkStrips(run, traffic, this.canvas, view);
    this.element = detailsElement("", true, this.legend(traffic), this.canvas);
    if (lacksCollectives(run)) this.element.append(textElement("p", LACKS_COLLECTIVES, "note"));
    this.element.className = "links";
    this.title();
    this.element.addEventListener("toggle", () => this.strips.theme && this.draw());
  }

  static of(run, traffic, view) {
    const panel = new LinkPanel(run, traffic, view);
    return panel.strips.timed.length > 0 ? panel : null;
  }

  get targets() {
    return [[this.canvas, (x, y) => this.strips.at(x, y)]];
  }

  rebuild(theme) {
    this.strips.theme = theme;
    this.draw();
  }

  draw() {
    if (this.element.open) this.strips.draw();
  }

  title() {
    const { shown, timed, isShared } = this.strips;
    const busiest = shown.length < timed.length ? `the ${shown.length} busiest of ` : "";
    this.element.querySelector("summary").textContent =
      `links: share of the bandwidth in use, ${busiest}${timed.length} ` +
      (timed.length === 1 ? "link" : "links") + (isShared ? ", first those of several jobs" : "");
  }

  legend(traffic) {
    const line = captionLine();
    const { use } = this.run;
    const used = new Set(use.traffic);
    traffic.forEach(({ fill, words }, k) => {
      if (used.has(k)) line.append(colourEntry(fill, words));
    });
    if (this.strips.isShared)
      line.append(colourEntry(`color-mix(in srgb, var(--ink) ${100 * CONCURRENT_ALPHA}%, var(--idle))`,
                              "from above: other jobs"));
    if (use.waited.some((flows) => flows > 0))
      line.append(colourEntry("var(--accent)", "above: flows waited for one another"));
    if (this.strips.shown.length < this.strips.timed.length) {
      const button = textElement("button", `show all ${this.strips.timed.length}`);
      button.onclick = () => {
        this.strips.showAll();
        this.title();
        button.remove();
      };
      line.append(button);
    }
    return line;
  }
}

// Table of the traffic that each link carried in the whole run.
export function linkTable(run, traffic) {
  const carried = traffic.map((_, k) => run.links.some((link) => link.bytes[k] > 0));
  const column = (head, value, cell, anchor) => ({ head, value, cell, anchor });
  const number = (head, value, text, anchor) =>
    column(head, value, (link) => (value(link) === null ? "\u2013" : text(value(link))), anchor);
  return sortableTable([
    column("link", (link) => link.name, (link) => nameElement("span", link.name)),
    column("class", (link) => link.link_class, (link) => nameElement("span", link.link_class)),
    number("alike", (link) => link.alike, String, "alike"),
    number("bandwidth", (link) => link.bandwidth, formatBandwidth),
    ...traffic.flatMap(({ words }, k) =>
      (carried[k] ? [number(words, (link) => link.bytes[k], formatBytes)] : [])),
    number("mean use", (link) => link.mean_use, formatPercent, "link-use"),
    number("peak use", (link) => link.peak_use, formatPercent, "link-use"),
    number("waited", (link) => link.waited_s, formatSeconds, "waited"),
  ], run.links);
}
