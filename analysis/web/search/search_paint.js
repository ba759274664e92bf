// Colours of candidates by their value of an axis: hues for names, a ramp for ordered values.

import { mark } from "../script/elements.js";
import { rampColour, sizeCanvas } from "../script/theme.js";
import { isWhole, search, valueText } from "./search_data.js";

// The hues of Okabe and Ito, which can be distinguished with any colour vision; darker variants for a
// light background, lighter ones for a dark background.
const LIGHT_HUES = ["#0072b2", "#d55e00", "#009e73", "#b8588f", "#b97900", "#3a9bd9", "#7a5c2e"];
const DARK_HUES = ["#56a9e0", "#ff8f4f", "#2fc79b", "#e39fc6", "#f0b429", "#9bd4f5", "#c9ab74"];
const SHAPES = ["circle", "square", "triangle", "diamond"];
const MAX_HUES = LIGHT_HUES.length * SHAPES.length;

export class Paint {
  // `axis`: index of the axis whose values determine colours, or null for a single colour.
  constructor(axis, theme) {
    this.axis = axis;
    const hues = theme.dark ? DARK_HUES : LIGHT_HUES;
    const count = axis === null ? 1 : search.axes[axis].values.length;
    const ordered = axis !== null && (count > MAX_HUES || (isWhole(axis) && count > 2));
    this.colours = Array.from({ length: count }, (_, value) =>
      ordered ? rampColour(theme.ramp, this.along(value, count)) : hues[value % hues.length]);
    this.shapes = Array.from({ length: count }, (_, value) =>
      ordered ? "circle" : SHAPES[Math.floor(value / hues.length) % SHAPES.length]);
  }

  along(value, count) {
    return count > 1 ? value / (count - 1) : 0;
  }

  valueOf(rows, row) {
    return this.axis === null ? 0 : rows.axes[this.axis][row];
  }

  // Returns the legend's entries; values that no visible candidate has are left out.
  legend(used, maxEntries = 14) {
    const values = [...used].sort((a, b) => a - b);
    const step = Math.ceil(values.length / maxEntries);
    return values.filter((_, i) => i % step === 0 || i === values.length - 1)
      .map((value) => ({ colour: this.colours[value], shape: this.shapes[value],
                         words: this.axis === null ? "candidates" : valueText(this.axis, value) }));
  }
}

export function tracePath(ctx, shape, x, y, r) {
  if (shape === "circle") {
    ctx.moveTo(x + r, y);
    ctx.arc(x, y, r, 0, 2 * Math.PI);
  } else if (shape === "square") {
    ctx.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
  } else if (shape === "triangle") {
    ctx.moveTo(x, y - 1.2 * r);
    ctx.lineTo(x + 1.1 * r, y + 0.8 * r);
    ctx.lineTo(x - 1.1 * r, y + 0.8 * r);
    ctx.closePath();
  } else {
    ctx.moveTo(x, y - 1.25 * r);
    ctx.lineTo(x + 1.25 * r, y);
    ctx.lineTo(x, y + 1.25 * r);
    ctx.lineTo(x - 1.25 * r, y);
    ctx.closePath();
  }
}

export function traceCross(ctx, x, y, r) {
  ctx.moveTo(x - r, y - r);
  ctx.lineTo(x + r, y + r);
  ctx.moveTo(x + r, y - r);
  ctx.lineTo(x - r, y + r);
}

// An entry of a legend: a mark and its meaning.
export function markEntry(draw, words) {
  const entry = mark("entry");
  const canvas = document.createElement("canvas");
  const scale = sizeCanvas(canvas, 16, 14);
  const ctx = canvas.getContext("2d");
  ctx.scale(scale, scale);
  draw(ctx);
  entry.append(canvas, words);
  return entry;
}
