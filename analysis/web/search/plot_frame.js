import { FONT, sizeCanvas } from "../script/theme.js";
import { roundStep } from "../script/units.js";

// Clears a canvas, sets its size in CSS pixels, and returns its context.
export function emptyContext(canvas, width, height) {
  const scale = sizeCanvas(canvas, width, height);
  const ctx = canvas.getContext("2d");
  ctx.scale(scale, scale);
  return ctx;
}

// Returns at most `maxTicks` tick positions within [from, to], and their distance. They are round
// numbers when divided by `factor`, the unit of the labels.
export function roundTicks(from, to, maxTicks, factor = 1) {
  const step = roundStep((to - from) / factor / Math.max(1, maxTicks)) * factor;
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to * (1 + 1e-12); ++i) ticks.push(i * step);
  return { ticks, step };
}

export function byteUnit(bytes) {
  let unit = 1;
  while (bytes / unit >= 1024) unit *= 1024;
  return unit;
}

// Returns a range that contains all values with a margin on both sides; it is never empty.
export function roomyRange(values, room = 0.06) {
  let from = Infinity;
  let to = -Infinity;
  for (const value of values) {
    if (value < from) from = value;
    if (value > to) to = value;
  }
  if (from > to) return { from: 0, to: 1 };
  const span = to - from || to * 0.5 || 1;
  return { from: Math.max(0, from - room * span), to: to + room * span };
}

export function scaleOf({ from, to }, low, high) {
  return { from, to, at: (value) => low + ((value - from) / (to - from)) * (high - low) };
}

// Draws grid, labels and names of the axes. `box`: left, right, top, bottom in CSS pixels.
export function drawFrame(ctx, box, x, y, names, theme) {
  ctx.font = `11px ${FONT}`;
  ctx.strokeStyle = theme.line;
  ctx.fillStyle = theme.faint;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (const tick of x.ticks) {
    const at = Math.round(x.at(tick)) + 0.5;
    ctx.moveTo(at, box.top);
    ctx.lineTo(at, box.bottom);
  }
  for (const tick of y.ticks) {
    const at = Math.round(y.at(tick)) + 0.5;
    ctx.moveTo(box.left, at);
    ctx.lineTo(box.right, at);
  }
  ctx.stroke();
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (const tick of x.ticks) ctx.fillText(x.text(tick), x.at(tick), box.bottom + 5);
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const tick of y.ticks) ctx.fillText(y.text(tick), box.left - 6, y.at(tick));
  ctx.fillStyle = theme.ink;
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  ctx.fillText(names.x, box.right, box.bottom + 34);
  ctx.textAlign = "left";
  ctx.fillText(names.y, 2, box.top - 5);
}
