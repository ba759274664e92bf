// The canvas of one run: device labels, rows of passes, their numbers.

const RIGHT_MARGIN = 16;
const LEAST_LABELLED_ROW = 11;  // CSS pixels, as all sizes here
const LEAST_HALVED_ROW = 6;
const LEAST_NUMBER = 7;

function rowHeight(devices) {
  return Math.min(26, Math.max(1, Math.floor(768 / Math.max(1, devices))));
}

class Timeline {
  constructor(run, canvas) {
    this.run = run;
    this.canvas = canvas;
    this.raster = new Raster(run.rows, run.colours);
    this.rowHeight = rowHeight(run.rows.devices);
    this.rowGap = this.rowHeight >= 6 ? 2 : this.rowHeight >= 4 ? 1 : 0;
    // The two passes of a pair lie above each other where the rows are high enough.
    this.halves = this.rowHeight >= LEAST_HALVED_ROW && run.rows.partner.some((at) => at !== 0);
  }

  draw(view, grid, theme) {
    const { run, rowHeight } = this;
    const devices = run.rows.devices;
    const scale = sizeCanvas(this.canvas, view.left + view.width + RIGHT_MARGIN, devices * rowHeight);
    const context = this.canvas.getContext("2d");
    const width = Math.round(view.width * scale);
    const found = this.raster.paint({
      from: view.from, to: view.to, width, until: run.makespan, grid, gap: scale, wide: 7 * scale,
      halves: this.halves,
    }, theme);

    // Each line of the image becomes a row, or half of one.
    context.imageSmoothingEnabled = false;
    const image = this.raster.canvas;
    if (this.halves)
      for (let line = 0; line < 2 * devices; ++line) {
        const device = line >> 1;
        const top = Math.round(this.partTop(device, line % 2) * scale);
        const bottom = Math.round((this.partTop(device, line % 2) + this.partHeight(true)) * scale);
        context.drawImage(image, 0, line, width, 1, view.left * scale, top, width, bottom - top);
      }
    else context.drawImage(image, view.left * scale, 0, width, this.canvas.height);
    context.scale(scale, scale);
    if (this.rowGap > 0)
      for (let device = 0; device < devices; ++device)
        context.clearRect(view.left, (device + 1) * rowHeight - this.rowGap, view.width, this.rowGap);
    context.save();
    context.beginPath();
    context.rect(view.left, 0, view.width, devices * rowHeight);
    context.clip();
    this.hatch(context, view, found.blocked, theme);
    this.number(context, view, found.passes);
    context.restore();
    this.labelDevices(context, view, theme);
  }

  // Of half of a device's row: 0 the upper, 1 the lower.
  partTop(device, half) {
    return device * this.rowHeight + half * this.partHeight(true);
  }

  partHeight(halved) {
    return (this.rowHeight - this.rowGap) / (halved ? 2 : 1);
  }

  hatch(context, view, blocked, theme) {
    if (blocked.length === 0) return;
    const { rows } = this.run;
    const height = this.rowHeight - this.rowGap;
    context.beginPath();
    for (let k = 0; k < blocked.length; k += 2) {
      const left = Math.max(view.left, view.x(rows.end[blocked[k]]));
      const right = Math.min(view.left + view.width, view.x(rows.released[blocked[k]]));
      context.rect(left, blocked[k + 1] * this.rowHeight, right - left, height);
    }
    context.fillStyle = context.createPattern(hatchTile(theme.blocked_line), "repeat");
    context.fill();
  }

  // The microbatch on each pass that is wide enough.
  number(context, view, passes) {
    if (this.rowHeight < LEAST_LABELLED_ROW) return;
    const { rows, colours } = this.run;
    context.textAlign = "center";
    context.textBaseline = "middle";
    // Few changes of font and colour: both are slow.
    for (const [halved, dark] of [[false, true], [false, false], [true, true], [true, false]]) {
      const size = Math.min(12, Math.round(this.partHeight(halved) * (halved ? 0.9 : 0.8)));
      if (size < LEAST_NUMBER || (halved && !this.halves)) continue;
      context.font = `${size}px ${FONT}`;
      const digit = context.measureText("0").width;
      context.fillStyle = dark ? "#16181b" : "#ffffff";
      for (let k = 0; k < passes.length; k += 2) {
        const i = passes[k];
        if (colours[rows.kind[i]][rows.chunk[i]].dark_text !== dark) continue;
        if ((rows.partner[i] !== 0) !== halved) continue;
        const label = String(rows.microbatch[i]);
        const left = Math.max(view.left, view.x(rows.start[i]));
        const right = Math.min(view.left + view.width, view.x(rows.end[i]));
        if (right - left < label.length * digit + 4) continue;
        const top = this.partTop(passes[k + 1], halved && !isUpper(rows, i) ? 1 : 0);
        const middle = top + this.partHeight(halved) / 2 + 0.5;
        context.fillText(label, (left + right) / 2, middle);
      }
    }
  }

  // As many labels as there is room for; hosts where the gutter holds them.
  labelDevices(context, view, theme) {
    const { run, rowHeight } = this;
    let step = 1;
    while (step * rowHeight < LEAST_LABELLED_ROW) step *= 2;
    const size = Math.min(12, Math.max(10, rowHeight - 2));
    context.font = `${size}px ${FONT}`;
    context.textBaseline = "middle";
    for (let device = 0; device < run.rows.devices; device += step) {
      const name = `device ${device}`;
      const middle = Math.max(size * 0.6, device * rowHeight + (rowHeight - this.rowGap) / 2);
      context.textAlign = "left";
      context.fillStyle = theme.ink;
      context.fillText(name, 0, middle);
      context.textAlign = "right";
      context.fillStyle = theme.faint;
      const room = view.left - 18 - context.measureText(name).width;
      if (context.measureText(run.hosts[device]).width <= room)
        context.fillText(run.hosts[device], view.left - 8, middle);
    }
  }

  // What lies at a point of the canvas: {device, pass} or {device, after}, which is the last pass
  // before an idle time, or nothing. Passes are indices of rows.
  at(view, x, y) {
    const { rows, makespan } = this.run;
    const device = Math.floor(y / this.rowHeight);
    const time = view.time(x);
    if (device < 0 || device >= rows.devices || x < view.left || x > view.left + view.width) return null;
    if (time < 0 || time > makespan) return null;
    const low = rows.first[device];
    const next = firstAbove(rows.start, low, rows.first[device + 1], time);
    const pass = next - 1;
    if (next > low && time <= rows.end[pass])
      return { device, pass: this.ofPair(pass, y - device * this.rowHeight), time };
    return { device, after: next > low ? pass : null, next, time };
  }

  // The pass itself, or its partner where the point is in that one's half of the row.
  ofPair(pass, y) {
    const { rows } = this.run;
    const upper = y < this.partHeight(true);
    return upper === isUpper(rows, pass) ? pass : pass + rows.partner[pass];
  }
}

const hatchTiles = new Map();
function hatchTile(colour) {
  if (!hatchTiles.has(colour)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 5;
    const context = tile.getContext("2d");
    context.strokeStyle = colour;
    for (const shift of [-5, 0, 5]) {
      context.moveTo(shift - 1, 6);
      context.lineTo(shift + 6, -1);
    }
    context.stroke();
    hatchTiles.set(colour, tile);
  }
  return hatchTiles.get(colour);
}
