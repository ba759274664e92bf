// Memory of each device over time as a stepped line, summed over the categories.

import { page } from "../page_data.js";
import { firstAbove } from "../rows.js";
import { rampColour } from "../theme.js";
import { PLOT_BOTTOM, PLOT_TOP, drawCapacity, timePlot } from "./plot.js";

const LINES_HEIGHT = 96;
const MAX_STROKES = 16;  // devices; more devices are drawn as an image

export class MemoryLines {
  // `maxBytes`: bytes at the top of the chart, the same for all runs, so that their charts compare.
  constructor(run, element, view, maxBytes) {
    this.run = run;
    this.element = element;
    this.view = view;
    this.maxBytes = maxBytes;
    this.chosen = 0;  // the device whose line is thicker
  }

  rebuild(theme, splits) {
    this.chart?.destroy();
    const { devices } = this.run.rows;
    this.colours = Array.from({ length: devices }, (_, device) =>
      rampColour(theme.ramp, devices > 1 ? device / (devices - 1) : 0.3));
    const strokes = devices <= MAX_STROKES ? this.colours : [];
    const line = (stroke, device) => ({
      stroke, width: 1.5, points: { show: false },
      paths: (chart) => ({ stroke: this.path(chart, device) }),
    });
    this.chart = timePlot(this.element, {
      view: this.view, height: LINES_HEIGHT, maxBytes: this.maxBytes, theme, splits,
      series: strokes.map(line),
      draw: (chart) => {
        if (strokes.length === 0) this.paint(chart);
        this.emphasize(chart, theme);
        for (const bytes of capacitiesOf(this.run)) drawCapacity(chart, bytes, this.maxBytes, theme);
      },
    });
  }

  paint({ ctx, bbox }) {
    const { run: { memory, makespan }, view: { from, to }, maxBytes } = this;
    const [width, height] = [Math.round(bbox.width), Math.round(bbox.height)];
    this.raster ??= new MemoryRaster();
    const colours = this.colours.map((colour) => colour.match(/\d+/g).map(Number));
    const image = this.raster.paint(memory, colours,
                                    { from, to, width, height, maxBytes, until: makespan });
    ctx.drawImage(image, bbox.left, bbox.top);
  }

  draw(splits) {
    this.chart.redrawAt(splits);
  }

  emphasize(chart, theme) {
    const { ctx } = chart;
    ctx.save();
    ctx.lineWidth = 2 * uPlot.pxRatio;
    ctx.strokeStyle = theme.ink;
    ctx.stroke(this.path(chart, this.chosen));
    ctx.restore();
  }

  // Returns the line of a device's memory. Changes within one column of pixels become a vertical
  // stroke from their minimum to their maximum.
  path(chart, device) {
    const { memory } = this.run;
    const { from, to } = this.view;
    const { left, top, width, height } = chart.bbox;
    const y = (bytes) => top + height * (1 - bytes / this.maxBytes);
    const path = new Path2D();
    const end = memory.first[device + 1];
    let i = firstAbove(memory.time, memory.first[device], end, from);
    let level = y(i > memory.first[device] ? memory.bytes[i - 1] : 0);
    path.moveTo(left, level);
    while (i < end && memory.time[i] <= to) {
      const x = left + ((memory.time[i] - from) / (to - from)) * width;
      const column = Math.floor(x) + 1;
      let low = level;
      let high = level;
      path.lineTo(x, level);
      for (; i < end; ++i) {
        if (left + ((memory.time[i] - from) / (to - from)) * width >= column) break;
        level = y(memory.bytes[i]);
        if (level < low) low = level;
        if (level > high) high = level;
      }
      if (low < level) path.lineTo(x, low);
      if (high > level) path.lineTo(x, high);
      path.lineTo(x, level);
    }
    const until = Math.min(1, (this.run.makespan - from) / (to - from));
    if (until > 0) path.lineTo(left + width * until, level);
    return path;
  }

  // Returns the device whose line is nearest to a point in CSS pixels, and its memory at that time.
  at(x, y) {
    const { run: { rows, memory, makespan } } = this;
    const time = this.view.time(x);
    if (x < this.view.left || time < 0 || time > makespan) return null;
    const height = LINES_HEIGHT - PLOT_TOP - PLOT_BOTTOM;
    const pointed = (1 - (y - PLOT_TOP) / height) * this.maxBytes;
    let best = null;
    for (let device = 0; device < rows.devices; ++device) {
      const distance = Math.abs(memoryAt(memory, device, time) - pointed);
      if (!best || distance < best.distance) best = { device, distance };
    }
    return { device: best.device, time, held: heldAt(memory, best.device, time) };
  }
}

// Bytes that a device holds at a point in time, over all categories.
export function memoryAt(memory, device, time) {
  const low = memory.first[device];
  const next = firstAbove(memory.time, low, memory.first[device + 1], time);
  return next === low ? 0 : memory.bytes[next - 1];
}

// Bytes that a device holds in each category, after all changes in rows before `next`.
export function heldBefore(memory, device, next) {
  const held = new Float64Array(page.categories.length);
  for (let i = memory.first[device]; i < next; ++i) held[memory.category[i]] = memory.held[i];
  return held;
}

// Bytes that a device holds in each category at a point in time.
export function heldAt(memory, device, time) {
  const next = firstAbove(memory.time, memory.first[device], memory.first[device + 1], time);
  return heldBefore(memory, device, next);
}

// The largest memory peak of the devices [first, last), in bytes.
export function peakMemory(memory, first = 0, last = memory.first.length - 1) {
  let peak = 0;
  for (let i = memory.first[first]; i < memory.first[last]; ++i)
    if (memory.bytes[i] > peak) peak = memory.bytes[i];
  return peak;
}

// The device with the highest share of its capacity in use, or with the highest peak if capacities are
// unknown.
export function fullestDevice(run) {
  const { devices } = run.summary;
  const hasCapacities = devices.every((device) => device.memory_capacity_bytes > 0);
  const fullness = (device) =>
    device.peak_memory_bytes / (hasCapacities ? device.memory_capacity_bytes : 1);
  const fuller = (best, device, i) => (fullness(device) > fullness(devices[best]) ? i : best);
  return devices.reduce(fuller, 0);
}

// The distinct known capacities of a run's devices, in bytes.
export function capacitiesOf(run) {
  return [...new Set(run.capacities)].filter((bytes) => bytes > 0);
}

// Bytes at the top of the charts. Capacities far above the peak are left out, since they would squeeze
// the curves.
export function memoryScale(runs) {
  const peak = Math.max(...runs.map((run) => peakMemory(run.memory)));
  const capacities = runs.flatMap(capacitiesOf).filter((bytes) => bytes <= 2.5 * peak);
  return 1.14 * Math.max(peak, ...capacities);
}

// Draws the lines of many devices pixel by pixel into an image, which is faster than stroking paths
// with as many points.
class MemoryRaster {
  constructor() {
    this.canvas = document.createElement("canvas");
  }

  // `colours`: [red, green, blue] of each device; `until`: end of the run, in ticks.
  paint(memory, colours, { from, to, width, height, maxBytes, until }) {
    this.canvas.width = width;
    this.canvas.height = height;
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const end = Math.min(width, Math.ceil(((until - from) / (to - from)) * width));
    const row = (bytes) =>
      Math.min(height - 1, Math.max(0, Math.round((1 - bytes / maxBytes) * height)));
    colours.forEach(([red, green, blue], device) => {
      const colour = (255 << 24) | (blue << 16) | (green << 8) | red;
      const last = memory.first[device + 1];
      let i = firstAbove(memory.time, memory.first[device], last, from);
      let level = row(i > memory.first[device] ? memory.bytes[i - 1] : 0);
      for (let x = 0; x < end; ++x) {
        // Changes within one pixel column become a stroke from minimum to maximum.
        const edge = from + ((x + 1) / width) * (to - from);
        let top = level;
        let bottom = level;
        for (; i < last && memory.time[i] < edge; ++i) {
          level = row(memory.bytes[i]);
          if (level < top) top = level;
          if (level > bottom) bottom = level;
        }
        for (let y = top; y <= bottom; ++y) pixels[y * width + x] = colour;
      }
    });
    context.putImageData(image, 0, 0);
    return this.canvas;
  }
}
