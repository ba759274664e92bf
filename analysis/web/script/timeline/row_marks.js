// Marks on the rows of passes: microbatch numbers, hatches, and names of devices.

import { page } from "../page_data.js";
import { FONT } from "../theme.js";
import { MIN_HALVED_ROW, MIN_LABELLED_ROW, MIN_NUMBERED } from "./layout.js";
import { LANE_NAMES } from "./spans.js";

const MIN_LABEL_SIZE = 6;  // CSS pixels

export class RowMarks {
  constructor(timeline, context) {
    const { run, view, layout, theme, paint, halves, settings } = timeline;
    Object.assign(this, { timeline, context, run, view, layout, theme, paint, halves, settings });
  }

  draw() {
    const { wide, blocked } = this.visible();
    this.hatch(blocked);
    this.hatchWaits(wide);
    this.number(wide);
  }

  // Visible passes that are wide enough for a number, and blocked times that are wide enough for a
  // hatch, each as pass and device. Both are empty if there are more passes than pixels.
  visible() {
    const { run, view, timeline } = this;
    const { rows } = run;
    const marks = { wide: [], blocked: [] };
    if (timeline.passes.spans.count(view.from, view.to) > view.width * rows.devices) return marks;
    const perTick = view.width / (view.to - view.from);
    for (let device = 0; device < rows.devices; ++device) {
      const [low, high] = timeline.passes.spans.range(device, view.from, view.to);
      for (let i = low; i < high; ++i) {
        if ((rows.end[i] - rows.start[i]) * perTick >= MIN_NUMBERED) marks.wide.push(i, device);
        if ((rows.released[i] - rows.end[i]) * perTick >= 3) marks.blocked.push(i, device);
      }
    }
    return marks;
  }

  bounds(start, end) {
    const { view } = this;
    return [Math.max(view.left, view.x(start)), Math.min(view.left + view.width, view.x(end))];
  }

  hatch(blocked) {
    const { context, layout, theme } = this;
    const { rows } = this.run;
    if (blocked.length === 0) return;
    context.beginPath();
    for (let k = 0; k < blocked.length; k += 2) {
      const [left, right] = this.bounds(rows.end[blocked[k]], rows.released[blocked[k]]);
      context.rect(left, layout.top(blocked[k + 1]), right - left, layout.row);
    }
    context.fillStyle = context.createPattern(hatchTile(theme.blocked_line), "repeat");
    context.fill();
  }

  // Hatches each pass along its bottom, for as long as it waits for collectives inside it.
  hatchWaits(wide) {
    const { context, layout, timeline } = this;
    const { rows, lanes } = this.run;
    const height = Math.max(2, Math.round(layout.row * 0.2));
    if (layout.row < MIN_HALVED_ROW || lanes.waits.size === 0) return;
    context.beginPath();
    for (let k = 0; k < wide.length; k += 2) {
      const i = wide[k];
      const wait = waitWithin(this.run, i, wide[k + 1]);
      if (wait <= 0) continue;
      const box = timeline.boxOf(i);
      const [left, right] = this.bounds(rows.end[i] - wait, rows.end[i]);
      if (right > left) context.rect(left, box.top + box.height - height, right - left - 1, height);
    }
    context.fillStyle = "rgb(255 255 255 / 0.55)";
    context.fill();
    context.fillStyle = context.createPattern(hatchTile("#00000088"), "repeat");
    context.fill();
  }

  // Writes the microbatch number on each pass that is wide enough, and the kind of pass if the
  // colours do not show it.
  number(wide) {
    const { run, context, layout, paint, timeline, settings } = this;
    if (layout.row < MIN_LABELLED_ROW - 2) return;
    const { rows } = run;
    context.textAlign = "center";
    context.textBaseline = "middle";
    // Passes with the same font and colour are drawn together, since changing either is slow.
    for (const [halved, dark] of [[false, true], [false, false], [true, true], [true, false]]) {
      const height = layout.partHeight(halved);
      const size = Math.min(12, Math.round(height * (halved ? 0.9 : 0.8)));
      if (size < MIN_NUMBERED || (halved && !this.halves)) continue;
      context.font = `${size}px ${FONT}`;
      const digit = context.measureText("0").width;
      context.fillStyle = dark ? "#16181b" : "#ffffff";
      const labels = new Map();  // by size in pixels
      for (let k = 0; k < wide.length; k += 2) {
        const i = wide[k];
        if (paint.dark_text[paint.tone[i]] !== dark || (rows.partner[i] !== 0) !== halved) continue;
        const [left, right] = this.bounds(rows.start[i], rows.end[i]);
        const room = right - left - 1;
        let label = String(rows.microbatch[i]);
        const letter = page.kinds[rows.kind[i]].letter;
        const fitsLetter = (label.length + 1.3) * digit <= room - 3;
        if (settings.mode !== "kind" && fitsLetter) label = letter + label;
        // Longer numbers get smaller digits, so that labels do not end at 9 on narrow passes.
        const width = label.length * digit;
        const labelSize = width <= room ? size : Math.floor((size * room) / width);
        if (labelSize < MIN_LABEL_SIZE) continue;
        const box = timeline.boxOf(i);
        if (!labels.has(labelSize)) labels.set(labelSize, []);
        labels.get(labelSize).push([label, (left + right) / 2, box.top + height / 2 + 0.5]);
      }
      for (const [labelSize, sameSize] of labels) {
        context.font = `${labelSize}px ${FONT}`;
        for (const [label, x, y] of sameSize) context.fillText(label, x, y);
      }
    }
  }
}

// Number of ticks for which a pass waits for collectives inside it.
export function waitWithin(run, pass, device) {
  const { rows, lanes } = run;
  const ofStage = lanes.waits.get(`${rows.stage[pass]} ${device}`);
  return ofStage ? Math.min(ofStage[rows.kind[pass]], rows.end[pass] - rows.start[pass]) : 0;
}

// Labels as many devices as fit, with hosts and lanes if the gutter is wide enough.
export function labelDevices(context, run, layout, view, theme) {
  let step = 1;
  while (step * layout.pitch < MIN_LABELLED_ROW) step *= 2;
  const size = Math.min(12, Math.max(10, layout.row - 2));
  const font = `${size}px ${FONT}`;
  context.textBaseline = "middle";
  for (let device = 0; device < run.rows.devices; device += step) {
    const name = `device ${device}`;
    const middle = Math.max(size * 0.6, layout.top(device) + layout.row / 2);
    context.font = font;
    context.textAlign = "left";
    context.fillStyle = theme.ink;
    context.fillText(name, 0, middle);
    context.textAlign = "right";
    context.fillStyle = theme.faint;
    const room = view.left - 18 - context.measureText(name).width;
    if (context.measureText(run.hosts[device]).width <= room)
      context.fillText(run.hosts[device], view.left - 8, middle);
    if (!(layout.lane >= 7)) continue;
    context.font = `${Math.min(9, layout.lane)}px ${FONT}`;
    layout.lanes.forEach((lane, k) => context.fillText(
      LANE_NAMES[lane], view.left - 8, layout.laneTop(device, k) + layout.lane / 2 + 0.5));
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
