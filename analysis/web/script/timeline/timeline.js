// The timeline of one run: a row of passes for each device, over its idle times, and lanes.

import { NONE, firstAbove, isUpper } from "../rows.js";
import { rgb, sizeCanvas } from "../theme.js";
import { Layout, MIN_HALVED_ROW } from "./layout.js";
import { Overlay } from "./overlay.js";
import { LANE_COLOURS, LANE_TONES, groupsOf, idleFills, passPaint, valuesOf } from "./paints.js";
import { PassStrip, Raster, Strip } from "./raster.js";
import { RowMarks, labelDevices } from "./row_marks.js";
import { Spans, collectivesOnPath, laneSpans, lanesOf } from "./spans.js";
import { RIGHT_MARGIN } from "./view.js";

export class Timeline {
  // `settings`: {mode, lanes, counts}; mode and lanes are the user's choices.
  constructor(run, canvas, view, settings) {
    Object.assign(this, { run, canvas, view, settings });
    this.raster = new Raster(run.rows.devices, view.total);
    this.spans = new Map();  // by name of the lane
    this.paired = valuesOf(run.rows.partner).size > 1;
    this.overlay = new Overlay(this);
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `timeline of ${run.name}: ${run.rows.devices} devices, ` +
      `${run.rows.count} passes; arrow keys move from pass to pass`);
    this.arrange();
  }

  arrange() {
    const { run, settings } = this;
    this.layout = new Layout(run.rows.devices, lanesOf(run.lanes), settings.lanes);
    // The passes of a fused pair are stacked if rows are high enough.
    this.halves = this.layout.row >= MIN_HALVED_ROW && this.paired;
  }

  laneSpans(name) {
    if (!this.spans.has(name)) this.spans.set(name, laneSpans(name, this.run));
    return this.spans.get(name);
  }

  laneTones(name) {
    const lane = this.laneSpans(name);
    lane.tones ??= valuesOf(lane.spans.tone);
    return lane.tones;
  }

  rebuild(theme) {
    const { run, settings } = this;
    const { idle, critical } = run.lanes;
    this.theme = theme;
    this.arrange();
    this.paint = passPaint(settings, run, theme);
    const plain = settings.mode === "critical";
    idle.tone ??= groupsOf(idle.cause);
    idle.spans ??= new Spans(idle);
    const ground = plain ? null : new Strip(idle.spans, idleFills(theme));
    this.passes = new PassStrip(run.rows, this.paint.tone, this.paint.fills, rgb(theme.blocked),
                                this.halves, ground);
    this.strips = [this.passes, ...this.layout.lanes.map((name) => {
      const { spans, targetOf } = this.laneSpans(name);
      if (!plain) return new Strip(spans, laneFills(), 1);
      const on = name === "collectives" ? collectivesOnPath(critical)
                                        : ({ transfer }) => critical.transfers[transfer] === 1;
      const tone = spans.tone.map((laneTone, k) =>
        (on(targetOf(k)) ? laneTone : LANE_TONES.length));
      return new Strip(new Spans({ ...spans, tone }), [...laneFills(), rgb(theme.dimmed)], 1);
    })];
  }

  // Paints all rows for a range of time into an image, from which place() copies lines to the
  // canvas.
  rasterize({ from, to }, width, grid, gap, strips = this.strips) {
    this.raster.paint(strips, { from, to, width, until: this.run.makespan, grid, gap },
                      this.theme);
    return this.raster.canvas;
  }

  draw(grid) {
    const { run, view, layout, theme } = this;
    const scale =
      sizeCanvas(this.canvas, view.left + view.width + RIGHT_MARGIN, layout.height);
    const context = this.canvas.getContext("2d");
    const image = this.rasterize(view, Math.round(view.width * scale), grid, scale);
    this.place(context, image, scale);
    context.scale(scale, scale);
    context.save();
    context.beginPath();
    context.rect(view.left, 0, view.width, layout.height);
    context.clip();
    const marks = new RowMarks(this, context);
    marks.draw();
    context.restore();
    labelDevices(context, run, layout, view, theme);
    this.overlay.draw();
  }

  // Copies each line of the image to a row, to half of a row, or to a lane.
  place(context, image, scale) {
    const { layout, view, run } = this;
    context.imageSmoothingEnabled = false;
    const left = Math.round(view.left * scale);
    if (layout.lanes.length === 0 && layout.gap === 0 && !this.halves)
      return context.drawImage(image, left, 0, image.width, this.canvas.height);
    let line = 0;
    const put = (top, height) => {
      const from = Math.round(top * scale);
      const to = Math.round((top + height) * scale);
      context.drawImage(image, 0, line++, image.width, 1, left, from, image.width, to - from);
    };
    for (let device = 0; device < run.rows.devices; ++device) {
      if (this.halves)
        for (const half of [0, 1]) put(layout.partTop(device, half), layout.partHeight(true));
      else put(layout.top(device), layout.row);
      layout.lanes.forEach((_, lane) => put(layout.laneTop(device, lane), layout.lane));
    }
  }

  deviceAt(y) {
    const device = Math.floor(y / this.layout.pitch);
    return device >= 0 && device < this.run.rows.devices ? device : null;
  }

  // The element at a point of the canvas, with its device and time: {pass}, {idle}, {transfer},
  // {collective} or {step}, all indices. Between elements there is only {device, time}; outside of
  // the run the result is null.
  at(x, y) {
    const { run, view, layout } = this;
    const place = layout.at(y);
    const time = view.time(x);
    if (!place || place.device < 0 || place.device >= run.rows.devices) return null;
    if (x < view.left || x > view.left + view.width || time < 0 || time > run.makespan) return null;
    const { device, lane } = place;
    if (lane !== null) {
      const { spans, targetOf } = this.laneSpans(layout.lanes[lane]);
      const span = spans.at(device, time);
      return span === NONE ? null : { device, time, lane: layout.lanes[lane], ...targetOf(span) };
    }
    const { rows } = run;
    const low = rows.first[device];
    const pass = firstAbove(rows.start, low, rows.first[device + 1], time) - 1;
    if (pass >= low && time <= rows.end[pass])
      return { device, time, pass: this.passOfPair(pass, y - layout.top(device)) };
    const idle = run.lanes.idle.spans.at(device, time);
    return idle === NONE ? { device, time } : { device, time, idle };
  }

  // Returns the pass at height `y` within a row: the given one, or its partner in a fused pair if
  // the point is in the partner's half of the row.
  passOfPair(pass, y) {
    const { rows } = this.run;
    const upper = y < this.layout.partHeight(true);
    return upper === isUpper(rows, pass) ? pass : pass + rows.partner[pass];
  }

  // Position of a pass on the canvas, in CSS pixels.
  boxOf(pass) {
    const { run, view, layout } = this;
    const { rows } = run;
    const device = deviceOf(rows, pass);
    const halved = this.halves && rows.partner[pass] !== 0;
    return {
      device,
      left: view.x(rows.start[pass]),
      right: view.x(rows.end[pass]),
      top: layout.partTop(device, halved && !isUpper(rows, pass) ? 1 : 0),
      height: layout.partHeight(halved),
    };
  }
}

const laneFills = () => LANE_TONES.map((name) => rgb(LANE_COLOURS[name]));

export function deviceOf(rows, pass) {
  return firstAbove(rows.first, 0, rows.devices, pass) - 1;
}
