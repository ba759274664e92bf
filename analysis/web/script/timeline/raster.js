// Draws spans into an image with one or more lines per device. A pixel that several spans share has
// the mean of their colours, weighted by time, so that any number of spans can be drawn.

import { isUpper } from "../rows.js";
import { rgb } from "../theme.js";
import { Spans } from "./spans.js";

const MAX_DIRECT_SPANS = 60000;  // this many spans are always painted one by one

export class Raster {
  // `total`: length of the whole time axis, in ticks.
  constructor(devices, total) {
    this.devices = devices;
    this.total = total;
    this.canvas = document.createElement("canvas");
  }

  // Paints the times from `from` to `to` into an image `width` pixels wide; it is transparent after
  // `until`, and has lines at the times of `grid`. `strips` paint the lines of each device, from
  // top to bottom.
  paint(strips, { from, to, width, until, grid, gap }, theme) {
    const perTick = width / (to - from);
    const lines = strips.reduce((sum, strip) => sum + strip.lines, 0);
    const height = Math.max(1, this.devices * lines);
    const context = sizedContext(this.canvas, width, height);
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const ticks = new Set(grid.map((time) => Math.round((time - from) * perTick)));
    const ground = { idle: rgb(theme.idle), line: rgb(theme.line), ticks };
    const end = Math.min(width, Math.ceil((until - from) * perTick));
    const window = { from, to, perTick, width, gap };
    const painters = strips.map((strip) => this.painter(strip, window));

    for (let device = 0, at = 0; device < this.devices; ++device)
      strips.forEach((strip, s) => {
        const { painted, under } = painters[s](device);
        for (const line of painted) {
          line.blend(pixels.subarray(at, at + end), { ...ground, under });
          at += width;
        }
      });
    context.putImageData(image, 0, 0);
  }

  // Returns a function that paints a strip's lines of one device. It paints span by span, or from
  // prefix sums if there are more spans than pixels.
  painter(strip, window) {
    const newLines = (count) => Array.from({ length: count }, () => new Line(window.width));
    const painted = newLines(strip.lines);
    const under = strip.ground ? new Line(window.width) : null;
    const direct = (layer) => (lines, device) => layer.paint(lines, device, window);
    const choosePainter = (layer) => {
      const { from, to, width } = window;
      const limit = Math.max(MAX_DIRECT_SPANS, 2 * width * this.devices);
      const isDirect = layer.spans.count(from, to) <= limit;
      if (isDirect) return direct(layer);
      layer.sums ??= new Sums(layer, this.devices, this.total);
      return layer.sums.fine(window) ? (lines, device) => layer.sums.paint(lines, device, window)
                                     : direct(layer);
    };
    const above = choosePainter(strip);
    const below = under && choosePainter(strip.ground);
    return (device) => {
      for (const line of painted) line.clear();
      above(painted, device);
      under?.clear();
      if (under) below([under], device);
      return { painted, under };
    };
  }
}

function sizedContext(canvas, width, height) {
  canvas.width = width;
  canvas.height = height;
  return canvas.getContext("2d");
}

// A strip with one line per device, on which spans are painted; `fills` has the colour of each
// tone.
export class Strip {
  // `minWidth`: pixels that even the shortest span covers.
  constructor(spans, fills, minWidth = 0) {
    Object.assign(this, { spans, fills, minWidth, ground: null, lines: 1 });
  }

  paint([line], device, { from, to, perTick }) {
    const { spans, fills, minWidth } = this;
    const { start, end, tone } = spans;
    const [low, high] = spans.range(device, from, to);
    for (let i = low; i < high; ++i) {
      const left = (start[i] - from) * perTick;
      line.add(left, Math.max((end[i] - from) * perTick, left + minWidth), fills[tone[i]], 1);
    }
  }
}

// Paints passes and the blocked times after them. With `halves`, the passes of a fused pair have a line
// each; otherwise they share a line.
export class PassStrip {
  constructor(rows, tone, fills, blocked, halves, ground) {
    const { first, start, end, released } = rows;
    this.spans = new Spans({ first, start, end, tone, reach: released });
    Object.assign(this, { rows, fills, blocked, ground, lines: halves ? 2 : 1 });
  }

  paint([upper, lower], device, { from, to, perTick, gap }) {
    const { rows, fills, blocked } = this;
    const { start, end, tone } = this.spans;
    const { partner, released } = rows;
    const [low, high] = this.spans.range(device, from, to);
    for (let i = low; i < high; ++i) {
      const left = (start[i] - from) * perTick;
      const right = (end[i] - from) * perTick;
      // A gap of one pixel separates neighbours if there is room for it.
      const shown = right - left >= 5 * gap ? right - gap : right;
      this.put(upper, lower, i, left, shown, fills[tone[i]], partner);
      if (released[i] <= end[i]) continue;
      this.put(upper, lower, i, right, (released[i] - from) * perTick, blocked, partner);
    }
  }

  put(upper, lower, i, left, right, colour, partner) {
    const paired = partner[i] !== 0;
    if (!lower) return upper.add(left, right, colour, paired ? 0.5 : 1);
    if (!paired || isUpper(this.rows, i)) upper.add(left, right, colour, 1);
    if (!paired || !isUpper(this.rows, i)) lower.add(left, right, colour, 1);
  }
}

// A line of pixels. Each holds the sum of its spans' colours, weighted by the share of the pixel
// that each span covers.
class Line {
  constructor(width) {
    this.width = width;
    this.sums = new Float32Array(4 * width);  // red, green, blue, covered
  }

  clear() {
    this.sums.fill(0);
  }

  add(left, right, colour, weight) {
    const { sums } = this;
    const low = Math.max(0, left);
    const high = Math.min(this.width, right);
    const red = colour[0], green = colour[1], blue = colour[2];  // destructuring is slower here
    for (let pixel = Math.floor(low); pixel < high; ++pixel) {
      const share = (Math.min(high, pixel + 1) - Math.max(low, pixel)) * weight;
      const at = 4 * pixel;
      sums[at] += red * share;
      sums[at + 1] += green * share;
      sums[at + 2] += blue * share;
      sums[at + 3] += share;
    }
  }

  // Writes the line's colours into an image. The background shows where no span is; it may be
  // tinted by the line `under`, and has the grid's ticks.
  blend(pixels, { idle, line, ticks, under }) {
    const { sums } = this;
    for (let x = 0; x < pixels.length; ++x) {
      const at = 4 * x;
      const covered = sums[at + 3];
      const scale = covered > 1 ? 1 / covered : 1;  // overlapping spans
      const rest = covered > 1 ? 0 : 1 - covered;
      let red = sums[at] * scale, green = sums[at + 1] * scale, blue = sums[at + 2] * scale;
      if (rest > 0) {
        const tinted = under === null || ticks.has(x) ? 0 : Math.min(1, under.sums[at + 3]);
        const plain = ticks.has(x) ? line : idle;
        const share = tinted > 0 ? (rest * tinted) / under.sums[at + 3] : 0;
        const left = rest * (1 - tinted);
        red += plain[0] * left + (share && under.sums[at] * share);
        green += plain[1] * left + (share && under.sums[at + 1] * share);
        blue += plain[2] * left + (share && under.sums[at + 2] * share);
      }
      pixels[x] = (255 << 24) | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5);
    }
  }
}

const SUM_STEPS = 8192;

// Prefix sums of a strip's colours, at steps of equal length on the time axis. With them, painting
// a pixel takes the same time for any number of spans.
class Sums {
  constructor(strip, devices, total) {
    this.lines = strip.lines;
    this.perTick = SUM_STEPS / total;
    this.stride = 4 * (SUM_STEPS + 1);
    this.sums = new Float32Array(devices * this.lines * this.stride);
    const steps = Array.from({ length: this.lines }, () => new Line(SUM_STEPS));
    for (let device = 0, at = 0; device < devices; ++device) {
      for (const line of steps) line.clear();
      strip.paint(steps, device, { from: 0, to: total, perTick: this.perTick, gap: Infinity });
      for (const line of steps) {
        this.addUp(line.sums, at);
        at += this.stride;
      }
    }
  }

  addUp(steps, at) {
    const { sums } = this;
    let red = 0, green = 0, blue = 0, covered = 0;
    for (let i = 0; i < steps.length; i += 4) {
      sums[at + 4 + i] = red += steps[i];
      sums[at + 5 + i] = green += steps[i + 1];
      sums[at + 6 + i] = blue += steps[i + 2];
      sums[at + 7 + i] = covered += steps[i + 3];
    }
  }

  // True if a pixel covers at least two steps, so that the steps are not visible.
  fine({ perTick }) {
    return this.perTick >= 2 * perTick;
  }

  paint(lines, device, { from, perTick, width }) {
    const stepsPerPixel = this.perTick / perTick;
    lines.forEach((line, l) => {
      const base = (device * this.lines + l) * this.stride;
      for (let x = 0; x < width; ++x) {
        const low = this.clamp(from * this.perTick + x * stepsPerPixel);
        const high = this.clamp(from * this.perTick + (x + 1) * stepsPerPixel);
        for (let k = 0; k < 4; ++k) {
          const sum = this.read(base + k, high) - this.read(base + k, low);
          line.sums[4 * x + k] = sum / stepsPerPixel;
        }
      }
    });
  }

  clamp(step) {
    return Math.min(SUM_STEPS, Math.max(0, step));
  }

  read(base, step) {
    const whole = Math.min(SUM_STEPS - 1, Math.floor(step));
    const at = base + 4 * whole;
    return this.sums[at] + (this.sums[at + 4] - this.sums[at]) * (step - whole);
  }
}
