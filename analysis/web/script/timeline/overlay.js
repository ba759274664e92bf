// Layer on top of a timeline for the hovered and the selected element: outlines of passes, including
// the matches of a search, and transfers as arrows between rows.

import { mark } from "../elements.js";
import { NONE, firstAbove } from "../rows.js";
import { sizeCanvas } from "../theme.js";
import { RIGHT_MARGIN } from "./view.js";

const ARROW_HEAD = 6;       // CSS pixels
const MAX_OUTLINES = 3000;  // more outlines would cover the whole timeline

export class Overlay {
  constructor(timeline) {
    this.timeline = timeline;
    this.canvas = mark("overlay", "canvas");
    const host = mark("timeline", "div");
    timeline.canvas.replaceWith(host);
    host.append(timeline.canvas, this.canvas);
    this.hovered = null;  // {pass} or {transfer}
    this.picked = null;
    this.matches = null;    // matches of a search: Uint8Array over passes
    this.arrows = [];
  }

  hover(target) {
    const isSame = target?.pass === this.hovered?.pass && target?.transfer === this.hovered?.transfer;
    if (isSame && !target === !this.hovered) return;
    this.hovered = target;
    this.draw();
  }

  pick(target) {
    this.picked = target;
    this.draw();
  }

  draw() {
    const { view, layout, theme } = this.timeline;
    if (!theme) return;
    const scale = sizeCanvas(this.canvas, view.left + view.width + RIGHT_MARGIN, layout.height);
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    context.beginPath();
    context.rect(view.left, 0, view.width, layout.height);
    context.clip();
    this.arrows = [];
    if (this.matches) this.outlineMatches(context);
    for (const target of [this.picked, this.hovered]) {
      if (!target) continue;
      const transfers = this.transfersOf(target);
      const ends = transfers.flatMap((t) => this.endsOf(t)).filter((pass) => pass !== NONE);
      for (const pass of ends) this.outline(context, pass, theme.faint, 1);
      if (target.pass !== undefined)
        this.outline(context, target.pass, target === this.picked ? theme.accent : theme.ink, 2);
      for (const transfer of transfers) this.arrow(context, transfer);
    }
  }

  endsOf(transfer) {
    const { maker, taker } = this.timeline.run.lanes.transfers;
    return [maker[transfer], taker[transfer]];
  }

  // Returns the transfers to draw as arrows: the given transfer itself, or those of a pass's input
  // and outputs.
  transfersOf({ pass, transfer }) {
    const { transfers } = this.timeline.run.lanes;
    if (transfer !== undefined) return [transfer];
    if (pass === undefined) return [];
    const input = transfers.input[pass];
    const made = outputsOf(transfers, pass);
    return input === NONE ? made : [input, ...made];
  }

  outline(context, pass, colour, width) {
    const { left, right, top, height } = this.timeline.boxOf(pass);
    context.strokeStyle = colour;
    context.lineWidth = width;
    const wide = Math.max(2, right - left);
    context.strokeRect(left - width / 2, top + width / 2 - 0.5, wide, height - width + 1);
  }

  outlineMatches(context) {
    const { run, view, passes, theme } = this.timeline;
    let remaining = MAX_OUTLINES;
    for (let device = 0; device < run.rows.devices; ++device) {
      const [low, high] = passes.spans.range(device, view.from, view.to);
      let pixel = -Infinity;
      for (let i = low; i < high && remaining > 0; ++i) {
        if (this.matches[i] === 0 || view.x(run.rows.end[i]) < pixel + 1) continue;
        pixel = view.x(run.rows.end[i]);
        --remaining;
        this.outline(context, i, theme.ink, 1.5);
      }
    }
  }

  // Draws an arrow from the end of the producing pass to the arrival at the receiving pass.
  arrow(context, transfer) {
    const { view, run, layout, theme } = this.timeline;
    const { transfers } = run.lanes;
    const from = transfers.source[transfer];
    const to = receiverOf(transfers, transfer);
    const down = to > from;
    const edge = (device, low) => layout.top(device) + (low ? layout.row : 0);
    const a = { x: view.x(transfers.posted[transfer]), y: edge(from, down) };
    const b = { x: view.x(transfers.end[transfer]), y: edge(to, !down) };
    const gradient = transfers.kind[transfer] === 1;
    this.arrows.push({ transfer, from, to, posted: transfers.posted[transfer],
                       end: transfers.end[transfer] });
    const far = 20000;  // pixels beyond which a canvas loses precision
    if (Math.max(a.x, b.x) < -far || Math.min(a.x, b.x) > far) return;
    const sign = down ? 1 : -1;
    const bend = Math.min(40, Math.max(8, Math.abs(b.y - a.y) / 2));
    const path = new Path2D();
    path.moveTo(a.x, a.y);
    path.bezierCurveTo(a.x, a.y + sign * bend, b.x, b.y - sign * (bend + ARROW_HEAD),
                       b.x, b.y - sign * ARROW_HEAD);
    context.lineJoin = "round";
    for (const [colour, width] of [[theme.ground, 4.5], [arrowColour(gradient, theme), 2]]) {
      context.strokeStyle = context.fillStyle = colour;
      context.lineWidth = width;
      context.stroke(path);
      context.beginPath();
      context.moveTo(b.x, b.y);
      context.lineTo(b.x - ARROW_HEAD * 0.6, b.y - sign * ARROW_HEAD);
      context.lineTo(b.x + ARROW_HEAD * 0.6, b.y - sign * ARROW_HEAD);
      context.closePath();
      if (width > 4) context.stroke();
      context.fill();
    }
  }
}

function arrowColour(gradient, theme) {
  if (theme.dark) return gradient ? "#ff9d5c" : "#8fd0ff";
  return gradient ? "#b34700" : "#00538f";
}

export function receiverOf({ first }, transfer) {
  return firstAbove(first, 0, first.length - 1, transfer) - 1;
}

// Returns the transfers that carry a pass's outputs. The first call builds an index of all
// transfers.
export function outputsOf(transfers, pass) {
  if (!transfers.chain) {
    transfers.chain = new Int32Array(transfers.count).fill(NONE);
    transfers.head = new Int32Array(transfers.input.length).fill(NONE);
    for (let i = transfers.count - 1; i >= 0; --i) {
      const maker = transfers.maker[i];
      if (maker === NONE) continue;
      transfers.chain[i] = transfers.head[maker];
      transfers.head[maker] = i;
    }
  }
  const outputs = [];
  for (let i = transfers.head[pass]; i !== NONE; i = transfers.chain[i]) outputs.push(i);
  return outputs;
}
