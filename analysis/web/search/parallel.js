// Parallel coordinates: each candidate is a line over its values of all axes, its throughput and its
// memory. Dragging along an axis keeps only the lines through that range.

import { shortened } from "../script/elements.js";
import { FONT } from "../script/theme.js";
import { formatBytes } from "../script/units.js";
import { byteUnit, emptyContext, roomyRange, roundTicks } from "./plot_frame.js";
import { OUTCOME, axisName, openAxes, valueText } from "./search_data.js";

export const MAX_LINES = 20000;
const PARALLEL_BOX = { left: 16, right: 16, top: 30, bottom: 22 };
const SPREAD = 10;  // CSS pixels over which the lines through a value are spread

export class Parallel {
  constructor(host, view, onBrush) {
    this.host = host;
    this.view = view;
    this.onBrush = onBrush;
    this.brushes = new Map();  // by index of an axis: {from, to}, shares of its height
    this.canvas = document.createElement("canvas");
    this.overlay = document.createElement("canvas");
    this.overlay.className = "overlay";
    host.append(this.canvas, this.overlay);
    this.listen();
  }

  listen() {
    let begin = null;
    const at = (event) => {
      const { left, top } = this.canvas.getBoundingClientRect();
      return { x: event.clientX - left, y: event.clientY - top };
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      const { x, y } = at(event);
      const axis = this.axes.findIndex((candidate) => Math.abs(candidate.x - x) < 18);
      if (axis < 0) return;
      begin = { axis, y };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const { x, y } = at(event);
      const near = this.axes.some((axis) => Math.abs(axis.x - x) < 18);
      this.canvas.style.cursor = near ? "ns-resize" : "default";
      if (!begin || Math.abs(y - begin.y) < 4) return;
      const [low, high] = [this.shareAt(begin.y), this.shareAt(y)].sort((a, b) => a - b);
      this.brushes.set(begin.axis, { from: low, to: high });
      this.onBrush();
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (begin && Math.abs(at(event).y - begin.y) < 4 && this.brushes.delete(begin.axis))
        this.onBrush();
      begin = null;
    });
  }

  clear() {
    this.brushes.clear();
    this.onBrush();
  }

  shareAt(y) {
    return Math.min(1, Math.max(0, (this.box.bottom - y) / (this.box.bottom - this.box.top)));
  }

  // Finds the axes to draw; each maps its values to positions from 0 to 1 of the chart's height.
  findAxes() {
    const { rows, drawn } = this.view;
    const drawnRows = [...drawn.simulated, ...drawn.bounded];
    const usedOf = (axis) =>
      [...new Set(drawnRows.map((row) => rows.axes[axis][row]))].sort((a, b) => a - b);
    const varied = openAxes.map((axis) => ({ axis, used: usedOf(axis) }))
      .filter(({ used }) => used.length > 1);
    const choiceAxes = varied.map(({ axis, used }) => {
      const place = new Map(used.map((value, i) => [value, (i + 0.5) / used.length]));
      return { name: axisName(axis), discrete: true, used,
               share: (row) => place.get(rows.axes[axis][row]) ?? 0,
               labels: used.map((value) => [place.get(value), valueText(axis, value)]) };
    });
    const numberAxis = (name, value, text) => {
      const { from, to } = roomyRange(drawnRows.map(value), 0.02);
      const { ticks } = roundTicks(from, to, 5, name === "memory" ? byteUnit(to) : 1);
      const share = (number) => (number - from) / (to - from);
      return { name, discrete: false, share: (row) => share(value(row)),
               labels: ticks.map((tick) => [share(tick), text(tick)]) };
    };
    const numberAxes = [];
    if (drawnRows.some((row) => rows.peak[row] > 0))
      numberAxes.push(numberAxis("memory", (row) => rows.peak[row],
                      (value) => formatBytes(value).replace(".0 ", " ")));
    const [first] = this.view.allMeasures;
    if (first) numberAxes.push(numberAxis(first.name, first.value, first.tick));
    return [...choiceAxes, ...numberAxes];
  }

  matches(row) {
    for (const [place, { from, to }] of this.brushes) {
      const share = this.axes?.[place]?.share(row) ?? 0;
      if (share < from || share > to) return false;
    }
    return true;
  }

  draw(width) {
    const { drawn } = this.view;
    const height = 300;
    this.box = { left: PARALLEL_BOX.left, right: width - PARALLEL_BOX.right, top: PARALLEL_BOX.top,
                 bottom: height - PARALLEL_BOX.bottom };
    this.axes = this.findAxes();
    const gaps = Math.max(1, this.axes.length - 1);
    this.axes.forEach((axis, i) => {
      axis.x = this.box.left + ((this.box.right - this.box.left) * i) / gaps;
    });
    const drawnRows = [...drawn.bounded, ...drawn.simulated];
    const stride = Math.ceil(drawnRows.length / MAX_LINES);
    const lines = stride > 1 ? drawnRows.filter((_, i) => i % stride === 0) : drawnRows;
    const ctx = emptyContext(this.canvas, width, height);
    this.drawLines(ctx, lines);
    this.drawAxes(ctx);
    this.size = [width, height];
    this.drawChosen();
    const matching = drawnRows.filter((row) => this.matches(row)).length;
    return { shown: lines.length, total: drawnRows.length, matching };
  }

  // Draws simulated candidates on top, the best one last.
  drawLines(ctx, lines) {
    const { theme, paint, rows } = this.view;
    const stroke = (row, colour, strength, thick) => {
      ctx.strokeStyle = colour;
      ctx.globalAlpha = strength;
      ctx.lineWidth = thick;
      ctx.beginPath();
      this.trace(ctx, row);
      ctx.stroke();
    };
    const colourOf = (row) => paint.colours[paint.valueOf(rows, row)];
    const matching = lines.filter((row) => this.matches(row));
    if (this.brushes.size > 0)
      for (const row of lines) if (!this.matches(row)) stroke(row, theme.line, 0.35, 0.7);
    const isSimulated = (row) => rows.outcome[row] === OUTCOME.simulated;
    const faint = Math.min(0.2, Math.max(0.0125, 1.5 / Math.sqrt(lines.length + 1)));
    for (const row of matching) if (!isSimulated(row)) stroke(row, colourOf(row), faint, 0.7);
    const simulated = matching.filter(isSimulated).sort((a, b) => rows.cost[b] - rows.cost[a]);
    const strong = Math.min(0.8, 6 / Math.sqrt(simulated.length + 1));
    for (const row of simulated) stroke(row, colourOf(row), strong, 1.2);
    ctx.globalAlpha = 1;
  }

  drawChosen() {
    const { theme, rows, chosen } = this.view;
    const ctx = emptyContext(this.overlay, ...this.size);
    if (chosen === null || !(rows.seconds[chosen] > 0)) return;
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 2.5;
    ctx.beginPath();
    this.trace(ctx, chosen);
    ctx.stroke();
  }

  heightOf(axis, row) {
    const spread = axis.discrete
      ? SPREAD * (((row * 0.618034) % 1) - 0.5) : 0;
    return this.box.bottom - axis.share(row) * (this.box.bottom - this.box.top) + spread;
  }

  trace(ctx, row) {
    this.axes.forEach((axis, i) => {
      const y = this.heightOf(axis, row);
      if (i === 0) ctx.moveTo(axis.x, y);
      else ctx.lineTo(axis.x, y);
    });
  }

  drawAxes(ctx) {
    const { theme } = this.view;
    const { top, bottom } = this.box;
    const room = this.axes.length > 1 ? this.axes[1].x - this.axes[0].x - 12 : 200;
    this.axes.forEach((axis, place) => {
      ctx.strokeStyle = theme.faint;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(axis.x, top);
      ctx.lineTo(axis.x, bottom);
      ctx.stroke();
      const brush = this.brushes.get(place);
      if (brush) {
        ctx.fillStyle = theme.accent;
        ctx.globalAlpha = 0.3;
        const upper = bottom - brush.to * (bottom - top);
        ctx.fillRect(axis.x - 6, upper, 12, (brush.to - brush.from) * (bottom - top));
        ctx.globalAlpha = 1;
      }
      ctx.font = `600 12px ${FONT}`;
      ctx.textAlign = place === 0 ? "left" : place === this.axes.length - 1 ? "right" : "center";
      ctx.textBaseline = "bottom";
      const edge = place === 0 ? 2 : place === this.axes.length - 1
        ? this.box.right + PARALLEL_BOX.right - 2 : axis.x;
      haloText(ctx, shortened(axis.name, Math.max(4, Math.floor(room / 8.5))), edge, top - 10, theme);
      ctx.font = `11px ${FONT}`;
      const last = place === this.axes.length - 1 && place > 0;
      ctx.textAlign = last ? "right" : "left";
      ctx.textBaseline = "middle";
      const step = Math.ceil((axis.labels.length * 15) / (bottom - top));
      axis.labels.forEach(([share, words], i) => {
        if (i % step !== 0) return;
        haloText(ctx, shortened(words, Math.max(3, Math.floor(room / 6.5))), axis.x + (last ? -6 : 6),
                 bottom - share * (bottom - top), theme);
      });
    });
  }
}

// Text with an outline, which makes it readable on top of lines.
function haloText(ctx, words, x, y, theme) {
  ctx.strokeStyle = theme.ground;
  ctx.lineWidth = 4;
  ctx.lineJoin = "round";
  ctx.strokeText(words, x, y);
  ctx.fillStyle = theme.ink;
  ctx.fillText(words, x, y);
}
