// The visible range of time, in ticks, which all panels share, and its position on the page: `width`
// CSS pixels from `left`.

import { FONT, sizeCanvas } from "../theme.js";
import { timeTicks } from "../units.js";

export const RIGHT_MARGIN = 16;  // CSS pixels

export class View {
  constructor(total) {
    this.total = Math.max(1, total);
    this.from = 0;
    this.to = this.total;
    this.left = 0;
    this.width = 1;
    this.changed = () => {};
  }

  get fitted() {
    return this.from === 0 && this.to === this.total;
  }

  x(time) {
    return this.left + ((time - this.from) / (this.to - this.from)) * this.width;
  }

  time(x) {
    return this.from + ((x - this.left) / this.width) * (this.to - this.from);
  }

  // Sets the visible range of time. It is moved into the axis, and widened to a few ticks if it is
  // narrower.
  show(from, to) {
    const span = Math.min(this.total, Math.max(to - from, this.total * 1e-8, 20));
    const start = Math.min(Math.max(0, from + (to - from - span) / 2), this.total - span);
    if (start === this.from && start + span === this.to) return;
    this.from = start;
    this.to = span === this.total ? this.total : start + span;
    this.changed();
  }

  zoom(factor, time = (this.from + this.to) / 2) {
    this.show(time - (time - this.from) * factor, time + (this.to - time) * factor);
  }

  pan(ticks) {
    const shift = Math.min(Math.max(ticks, -this.from), this.total - this.to);
    this.show(this.from + shift, this.to + shift);
  }

  fit() {
    this.show(0, this.total);
  }
}

// The time axis above all panels.

const AXIS_HEIGHT = 26;

export function ticksOfView(view, perSecond) {
  const maxTicks = Math.max(2, Math.floor(view.width / 90));
  return timeTicks(view.from / perSecond, view.to / perSecond, maxTicks);
}

export function drawAxis(canvas, view, ticks, unit, perSecond, theme) {
  const width = view.left + view.width + RIGHT_MARGIN;
  const scale = sizeCanvas(canvas, width, AXIS_HEIGHT);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = `12px ${FONT}`;
  context.textBaseline = "alphabetic";
  context.fillStyle = theme.faint;
  context.textAlign = "left";
  context.fillText(`time (${unit})`, 0, 15);
  context.textAlign = "center";
  context.fillStyle = theme.ink;
  context.fillRect(view.left, AXIS_HEIGHT - 1, view.width, 1);
  for (const tick of ticks) {
    const x = view.x(tick.seconds * perSecond);
    context.fillRect(Math.round(x), AXIS_HEIGHT - 6, 1, 6);
    const half = context.measureText(tick.label).width / 2;
    context.fillText(tick.label, Math.min(x, width - half), 15);
  }
}
