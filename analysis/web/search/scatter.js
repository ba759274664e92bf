// Throughput, or another measure, against memory. Points are drawn on one canvas; the hovered and the
// selected point are marked on a second canvas above it.

import { shortened } from "../script/elements.js";
import { FONT } from "../script/theme.js";
import { formatBytes } from "../script/units.js";
import {
  byteUnit, drawFrame, emptyContext, roomyRange, roundTicks, scaleOf
} from "./plot_frame.js";
import { OUTCOME, search } from "./search_data.js";
import { traceCross, tracePath } from "./search_paint.js";

const SCATTER_BOX = { left: 62, right: 14, top: 24, bottom: 40 };
const REACH = 14;  // largest distance in CSS pixels from the pointer to the point that it selects
const CELL = 16;

// The unit in which the ticks of the vertical axis are round numbers.
const tickUnit = (form, largest) => (form === "ratio" ? 0.01 : form === "bytes" ? byteUnit(largest) : 1);

export class Scatter {
  // `view`: object with rows, theme, measure, paint, front, best, and the rows to draw.
  constructor(host, view, { onPoint, onClick }) {
    this.host = host;
    this.view = view;
    this.canvas = document.createElement("canvas");
    this.overlay = document.createElement("canvas");
    this.overlay.className = "overlay";
    host.append(this.canvas, this.overlay);
    this.hovered = null;
    host.addEventListener("pointermove", (event) => {
      const { left, top } = host.getBoundingClientRect();
      const row = this.nearest(event.clientX - left, event.clientY - top);
      host.style.cursor = row === null ? "default" : "pointer";
      if (row !== this.hovered) {
        this.hovered = row;
        this.drawOverlay();
      }
      onPoint(row, event);
    });
    host.addEventListener("pointerleave", (event) => {
      this.hovered = null;
      this.drawOverlay();
      onPoint(null, event);
    });
    host.addEventListener("click", (event) => {
      const { left, top } = host.getBoundingClientRect();
      const row = this.nearest(event.clientX - left, event.clientY - top);
      if (row !== null) onClick(row);
    });
  }

  draw(width) {
    const { view } = this;
    this.width = width;
    this.height = Math.round(Math.min(460, Math.max(300, 0.6 * width)));
    this.box = { left: SCATTER_BOX.left, right: width - SCATTER_BOX.right,
                 top: SCATTER_BOX.top, bottom: this.height - SCATTER_BOX.bottom };
    this.findScales();
    const ctx = emptyContext(this.canvas, width, this.height);
    drawFrame(ctx, this.box, this.x, this.y,
              { x: "memory of the fullest device", y: shortened(view.measure.title, 60) }, view.theme);
    this.drawCapacity(ctx);
    this.drawMisfits(ctx);
    this.drawPoints(ctx);
    this.drawFront(ctx);
    this.drawBands(ctx);
    this.index();
    this.drawOverlay();
  }

  findScales() {
    const { rows, measure, drawn, capacity } = this.view;
    const points = [...drawn.simulated, ...drawn.bounded, ...drawn.failed];
    let minBytes = Infinity;
    let maxBytes = 0;
    for (const row of points) {
      minBytes = Math.min(minBytes, rows.peak[row]);
      maxBytes = Math.max(maxBytes, rows.peak[row]);
    }
    if (capacity > 0 && capacity < 4 * (maxBytes || capacity))
      maxBytes = Math.max(maxBytes, capacity);
    if (!(minBytes <= maxBytes)) minBytes = 0;
    const span = maxBytes - minBytes || maxBytes || 1;
    // The axis starts at zero unless that would leave most of it empty.
    const x = { from: minBytes < 0.6 * maxBytes ? 0 : minBytes - 0.08 * span,
                to: maxBytes + 0.06 * span };
    const ends = this.shownBands().flatMap((band) => this.endsOf(band));
    const y = roomyRange([...points.map(measure.value), ...ends]);
    // The best candidates, with little memory and a good measure, are at the upper left.
    this.x = scaleOf(x, this.box.left, this.box.right);
    this.y = measure.up ? scaleOf(y, this.box.bottom, this.box.top)
                        : scaleOf(y, this.box.top, this.box.bottom);
    const unit = byteUnit(maxBytes);
    const across = roundTicks(x.from, x.to, (this.box.right - this.box.left) / 80, unit);
    Object.assign(this.x, { ticks: across.ticks,
                            text: (value) => formatBytes(value).replace(".0 ", " ") });
    const up = roundTicks(y.from, y.to, (this.box.bottom - this.box.top) / 44,
                          tickUnit(measure.form, y.to));
    Object.assign(this.y, { ticks: up.ticks, text: measure.tick });
  }

  place(row) {
    return { x: this.x.at(this.view.rows.peak[row]), y: this.y.at(this.view.measure.value(row)) };
  }

  drawCapacity(ctx) {
    const { capacity, theme } = this.view;
    if (!(capacity >= this.x.from && capacity <= this.x.to)) return;
    const at = this.x.at(capacity);
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = theme.accent;
    ctx.lineWidth = 1.5;
    ctx.setLineDash([7, 4]);
    ctx.beginPath();
    ctx.moveTo(at, this.box.top);
    ctx.lineTo(at, this.box.bottom);
    ctx.stroke();
    ctx.textAlign = at > this.box.right - 30 ? "right" : "center";
    ctx.textBaseline = "bottom";
    ctx.fillText("capacity", Math.min(at, this.box.right), this.box.top - 4);
    ctx.restore();
  }

  // Candidates that do not fit have no time; they are marked on the memory axis.
  drawMisfits(ctx) {
    const { rows, drawn, theme } = this.view;
    const last = new Set();
    ctx.fillStyle = theme.faint;
    for (const row of drawn.misfits) {
      const at = Math.round(this.x.at(rows.peak[row]));
      if (at > this.box.right || last.has(at)) continue;
      last.add(at);
      ctx.fillRect(at, this.box.bottom - 7, 1, 7);
    }
  }

  radius() {
    const count = this.view.drawn.simulated.length;
    return count > 20000 ? 1.6 : count > 4000 ? 2.2 : count > 800 ? 3 : 4.5;
  }

  // Draws the points of each colour together, since changing colours is slow.
  drawPoints(ctx) {
    const { rows, paint, drawn, matches, theme } = this.view;
    const r = this.radius();
    const layer = (list, alpha, traceMark) => {
      const byColour = new Map();
      for (const row of list) {
        const key = matches(row) ? paint.valueOf(rows, row) : -1;
        if (!byColour.has(key)) byColour.set(key, []);
        byColour.get(key).push(row);
      }
      for (const key of [...byColour.keys()].sort((a, b) => a - b)) {
        ctx.globalAlpha = key < 0 ? 0.5 * alpha : alpha;
        ctx.fillStyle = ctx.strokeStyle = key < 0 ? theme.line : paint.colours[key];
        ctx.beginPath();
        for (const row of byColour.get(key)) {
          const { x, y } = this.place(row);
          traceMark(x, y, paint.shapes[Math.max(0, key)]);
        }
        traceMark.finish();
      }
      ctx.globalAlpha = 1;
    };
    const faint = (x, y) => ctx.rect(x - 1.25, y - 1.25, 2.5, 2.5);
    faint.finish = () => ctx.fill();
    layer(drawn.bounded, drawn.bounded.length > 5000 ? 0.25 : 0.45, faint);
    const crossed = (x, y) => traceCross(ctx, x, y, 3.5);
    crossed.finish = () => ctx.stroke();
    ctx.lineWidth = 1.5;
    layer(drawn.failed, 1, crossed);
    const full = (x, y, shape) => tracePath(ctx, shape, x, y, r);
    full.finish = () => ctx.fill();
    layer(drawn.simulated, 0.9, full);
  }

  // Draws the Pareto front as a staircase; candidates below it are dominated.
  drawFront(ctx) {
    const { front, theme, measure } = this.view;
    if (front.length === 0 || measure.column !== "throughput") return;
    ctx.strokeStyle = theme.ink;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    front.forEach((row, i) => {
      const { x, y } = this.place(row);
      if (i === 0) ctx.moveTo(x, this.box.bottom);
      else ctx.lineTo(x, this.place(front[i - 1]).y);
      ctx.lineTo(x, y);
    });
    ctx.lineTo(this.box.right, this.place(front.at(-1)).y);
    ctx.globalAlpha = 0.55;
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.beginPath();
    for (const row of front) {
      const { x, y } = this.place(row);
      tracePath(ctx, "circle", x, y, this.radius() + 1.5);
    }
    ctx.stroke();
  }

  // Error bars of the candidates whose robustness was simulated: each covers 90 % of the random
  // draws of their time.
  shownBands() {
    if (!this.view.measure.isTimed) return [];
    const { simulated } = this.view.drawn;
    return search.bands.filter(({ row }) => simulated.includes(row));
  }

  endsOf({ row, low, high }) {
    const { measure } = this.view;
    const value = measure.value(row);
    return measure.up ? [value / high, value / low] : [value * low, value * high];
  }

  drawBands(ctx) {
    ctx.strokeStyle = this.view.theme.ink;
    ctx.lineWidth = 1.25;
    ctx.beginPath();
    for (const band of this.shownBands()) {
      const { x } = this.place(band.row);
      const ends = this.endsOf(band).map((value) => this.y.at(value));
      ctx.moveTo(x, ends[0]);
      ctx.lineTo(x, ends[1]);
      for (const y of ends) {
        ctx.moveTo(x - 4, y);
        ctx.lineTo(x + 4, y);
      }
    }
    ctx.stroke();
  }

  drawOverlay() {
    const { theme, chosen, best } = this.view;
    const ctx = emptyContext(this.overlay, this.width, this.height);
    const ring = (row, colour, r) => {
      if (row === null || !this.has(row)) return;
      const { x, y } = this.place(row);
      ctx.strokeStyle = colour;
      ctx.lineWidth = 2.5;
      ctx.beginPath();
      tracePath(ctx, "circle", x, y, r);
      ctx.stroke();
    };
    if (best !== null && this.has(best)) {
      const { x, y } = this.place(best);
      ctx.fillStyle = theme.ink;
      ctx.font = `600 12px ${FONT}`;
      const left = x > this.box.right - 50;
      ctx.textAlign = left ? "right" : "left";
      ctx.textBaseline = "bottom";
      ctx.fillText("best", x + (left ? -7 : 7), y - 5);
    }
    ring(chosen, theme.accent, this.radius() + 4);
    ring(this.hovered, theme.ink, this.radius() + 3);
  }

  has(row) {
    return this.cells !== undefined && this.places.has(row);
  }

  index() {
    this.cells = new Map();
    this.places = new Set();
    const { drawn } = this.view;
    for (const row of [...drawn.bounded, ...drawn.failed, ...drawn.simulated]) {
      const { x, y } = this.place(row);
      const key = Math.floor(x / CELL) * 4096 + Math.floor(y / CELL);
      if (!this.cells.has(key)) this.cells.set(key, []);
      this.cells.get(key).push(row);
      this.places.add(row);
    }
  }

  // Returns the candidate nearest to a point, or null if none is near. A simulated candidate is
  // preferred to one that is closer by less than 4 pixels.
  nearest(x, y) {
    const { rows } = this.view;
    let nearestRow = null;
    let minDistance = REACH;
    const [column, line] = [Math.floor(x / CELL), Math.floor(y / CELL)];
    for (let i = column - 1; i <= column + 1; ++i)
      for (let k = line - 1; k <= line + 1; ++k)
        for (const row of this.cells?.get(i * 4096 + k) ?? []) {
          const at = this.place(row);
          const distance = Math.hypot(at.x - x, at.y - y) +
                           (rows.outcome[row] === OUTCOME.simulated ? 0 : 4);
          if (distance >= minDistance) continue;
          minDistance = distance;
          nearestRow = row;
        }
    return nearestRow;
  }
}
