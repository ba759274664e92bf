// Rows of passes as pixels, one line of an image for each device, or two where pairs are told apart. A pixel that several passes share
// gets the mean of their colours by time, so that no number of passes is too many, and none gets
// lost.

class Raster {
  constructor(rows, colours) {
    this.rows = rows;
    this.chunks = colours[0].length;
    this.fills = colours.flat().map((colour) => rgb(colour.fill));  // [kind * chunks + chunk]
    this.canvas = document.createElement("canvas");
  }

  // Paints [from, to] over `width` pixels, transparent after `until`, with lines at the ticks of
  // `grid`; with `halves`, two lines a device. Returns the passes that are at least `wide` pixels wide, and those that wait visibly for
  // their send, each followed by its device.
  paint({ from, to, width, until, grid, gap, wide, halves }, theme) {
    const { rows } = this;
    const perTick = width / (to - from);
    const height = rows.devices * (halves ? 2 : 1);
    const context = sizedContext(this.canvas, width, height);
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const lines = new Set(grid.map((time) => Math.round((time - from) * perTick)));
    const ground = { idle: rgb(theme.idle), line: rgb(theme.line), lines };
    const idleEnd = Math.min(width, Math.ceil((until - from) * perTick));
    const blocked = rgb(theme.blocked);
    const found = { passes: [], blocked: [] };
    const upper = new Line(width);
    const lower = halves ? new Line(width) : null;
    const put = (i, left, right, colour) => {
      const paired = rows.partner[i] !== 0;
      if (!halves) return upper.add(left, right, colour, paired ? 0.5 : 1);
      if (!paired || isUpper(rows, i)) upper.add(left, right, colour, 1);
      if (!paired || !isUpper(rows, i)) lower.add(left, right, colour, 1);
    };

    for (let device = 0; device < rows.devices; ++device) {
      upper.clear();
      lower?.clear();
      const high = rows.first[device + 1];
      for (let i = firstAbove(rows.released, rows.first[device], high, from); i < high; ++i) {
        if (rows.start[i] >= to) break;
        const left = (rows.start[i] - from) * perTick;
        const right = (rows.end[i] - from) * perTick;
        if (right - left >= wide) found.passes.push(i, device);
        // A gap of a pixel tells neighbours apart where there is room for it.
        const shown = right - left >= 5 * gap ? right - gap : right;
        put(i, left, shown, this.fills[rows.kind[i] * this.chunks + rows.chunk[i]]);
        if (rows.released[i] > rows.end[i]) {
          const free = (rows.released[i] - from) * perTick;
          put(i, right, free, blocked);
          if (free - right >= 3) found.blocked.push(i, device);
        }
      }
      const lines = halves ? [upper, lower] : [upper];
      lines.forEach((line, half) => {
        const at = (device * lines.length + half) * width;
        line.blend(pixels.subarray(at, at + idleEnd), ground);
      });
    }
    context.putImageData(image, 0, 0);
    return found;
  }
}

function sizedContext(canvas, width, height) {
  canvas.width = width;
  canvas.height = height;
  return canvas.getContext("2d");
}

// Sums of colours, by how much of each pixel they cover.
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

  blend(pixels, { idle, line, lines }) {
    const { sums } = this;
    for (let x = 0; x < pixels.length; ++x) {
      const ground = lines.has(x) ? line : idle;
      const at = 4 * x;
      const rest = Math.max(0, 1 - sums[at + 3]);
      const red = Math.min(255, sums[at] + ground[0] * rest);
      const green = Math.min(255, sums[at + 1] + ground[1] * rest);
      const blue = Math.min(255, sums[at + 2] + ground[2] * rest);
      pixels[x] = (255 << 24) | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5);
    }
  }
}
