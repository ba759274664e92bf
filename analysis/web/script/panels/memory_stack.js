// Memory of one device over time, stacked by component. A pixel column with several changes shows
// the moment of the highest total, so that peaks stay visible.

import { firstAbove, perSecond } from "../rows.js";
import { FONT } from "../theme.js";
import { formatBytes } from "../units.js";
import { fullestDevice, heldAt, heldBefore } from "./memory.js";
import { drawCapacity, timePlot } from "./plot.js";

const STACK_HEIGHT = 170;

export class MemoryStack {
  // `maxBytes`: bytes at the top of the chart, the same for all runs, so that their charts compare.
  constructor(run, categories, element, view, maxBytes) {
    this.run = run;
    this.categories = categories;
    this.element = element;
    this.view = view;
    this.maxBytes = maxBytes;
    this.device = fullestDevice(run);
  }

  rebuild(theme, splits) {
    this.chart?.destroy();
    this.theme = theme;
    const layer = (category, k) => ({
      fill: category.fill,
      points: { show: false },
      paths: (chart) => {
        if (k === 0) this.steps = this.layOut(chart);
        return { fill: layerPath(this.steps, k) };
      },
    });
    this.chart = timePlot(this.element, {
      view: this.view, height: STACK_HEIGHT, maxBytes: this.maxBytes, theme, splits,
      series: this.categories.map(layer),
      draw: (chart) => this.mark(chart),
    });
  }

  draw(splits) {
    this.chart.redrawAt(splits);
  }

  // Computes the steps of the stacked areas in canvas pixels: for each, its left end and the
  // heights of the edges between layers, from the bottom up.
  layOut(chart) {
    const { memory, makespan } = this.run;
    const { from, to } = this.view;
    const { left, top, width, height } = chart.bbox;
    const end = memory.first[this.device + 1];
    let i = firstAbove(memory.time, memory.first[this.device], end, from);
    const held = heldBefore(memory, this.device, i);
    const until = left + width * Math.min(1, (makespan - from) / (to - from));
    const steps = { x: [], edges: [], until };
    const push = (x, bytes) => {
      steps.x.push(x);
      let sum = 0;
      const edges = [top + height];
      for (const layer of bytes) edges.push(top + height * (1 - (sum += layer) / this.maxBytes));
      steps.edges.push(edges);
    };
    const column = (time) => Math.floor(((time - from) / (to - from)) * width);
    push(left, held);
    while (i < end && memory.time[i] <= to) {
      const x = column(memory.time[i]);
      let maxHeld = -1;
      let fullest = held;
      for (; i < end && column(memory.time[i]) === x; ++i) {
        held[memory.category[i]] = memory.held[i];
        if (memory.bytes[i] > maxHeld) {
          maxHeld = memory.bytes[i];
          fullest = held.slice();
        }
      }
      push(left + x, fullest);
      if (i < end && column(memory.time[i]) > x + 1) push(left + x + 1, held);
    }
    return steps;
  }

  mark(chart) {
    const { ctx, bbox } = chart;
    const scale = uPlot.pxRatio;
    const device = this.run.summary.devices[this.device];
    const y = (bytes) => bbox.top + bbox.height * (1 - bytes / this.maxBytes);
    drawCapacity(chart, device.memory_capacity_bytes, this.maxBytes, this.theme);
    const time = device.peak_time_s * perSecond;
    const share = (time - this.view.from) / (this.view.to - this.view.from);
    if (device.peak_memory_bytes === 0 || share < 0 || share > 1) return;
    const x = bbox.left + bbox.width * share;
    const top = y(device.peak_memory_bytes);
    ctx.save();
    ctx.beginPath();
    ctx.arc(x, top, 3.5 * scale, 0, 2 * Math.PI);
    ctx.fillStyle = this.theme.ink;
    ctx.fill();
    ctx.lineWidth = 1.5 * scale;
    ctx.strokeStyle = this.theme.ground;
    ctx.stroke();
    const text = `peak ${formatBytes(device.peak_memory_bytes)}`;
    ctx.font = `${11 * scale}px ${FONT}`;
    ctx.textBaseline = "middle";
    const room = bbox.left + bbox.width - x;
    const space = ctx.measureText(text).width + 10 * scale;
    ctx.textAlign = room < space ? "right" : "left";
    // The outline makes the text readable on every layer.
    ctx.lineWidth = 3 * scale;
    ctx.lineJoin = "round";
    const at = [x + (room < space ? -7 : 7) * scale,
                Math.max(bbox.top + 7 * scale, top - 8 * scale)];
    ctx.strokeText(text, ...at);
    ctx.fillText(text, ...at);
    ctx.restore();
  }

  // The time and the memory under a point of the chart, or null outside of the run.
  at(x) {
    const time = this.view.time(x);
    return x < this.view.left || time < 0 || time > this.run.makespan
      ? null : { device: this.device, time, held: heldAt(this.run.memory, this.device, time) };
  }
}

// Returns the outline of layer `k`: along its upper edge and back along its lower one.
function layerPath({ x, edges, until }, k) {
  const path = new Path2D();
  const end = (i) => (i + 1 < x.length ? x[i + 1] : Math.max(until, x[i]));
  if (edges.every((edge) => edge[k] === edge[k + 1])) return path;
  path.moveTo(x[0], edges[0][k + 1]);
  for (let i = 0; i < x.length; ++i) {
    path.lineTo(x[i], edges[i][k + 1]);
    path.lineTo(end(i), edges[i][k + 1]);
  }
  for (let i = x.length - 1; i >= 0; --i) {
    path.lineTo(end(i), edges[i][k]);
    path.lineTo(x[i], edges[i][k]);
  }
  path.closePath();
  return path;
}
