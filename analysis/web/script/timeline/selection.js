// The selected pass or transfer, with its description in a corner of the window, and navigation from
// pass to pass.

import { fillDescription, textElement } from "../elements.js";
import { NONE, firstAbove } from "../rows.js";
import { outputsOf } from "./overlay.js";
import { deviceOf } from "./timeline.js";

export class Selection {
  // `panels`: the panels of each run; `describe(run, target)`: describes an element of the
  // timeline.
  constructor(panels, view, describe) {
    Object.assign(this, { panels, view, describe });
    this.current = null;  // {index, target}: run, and {pass, device} or {transfer, device}
    this.box = document.createElement("aside");
    this.box.id = "picked";
    this.box.hidden = true;
    this.box.setAttribute("aria-live", "polite");
    this.box.setAttribute("aria-label", "selection");
    this.words = document.createElement("div");
    const close = textElement("button", "\u00d7");
    close.title = "clear (Esc)";
    close.setAttribute("aria-label", "clear the selection");
    close.onclick = () => this.clear();
    this.box.append(this.words, close);
    document.body.append(this.box);
  }

  pick(index, target) {
    const isSelectable = target?.pass !== undefined || target?.transfer !== undefined;
    const selected = isSelectable ? target : null;
    this.current = selected && { index, target: selected };
    this.panels.forEach(({ timeline }, k) => timeline.overlay.pick(k === index ? selected : null));
    this.box.hidden = !selected;
    if (selected) fillDescription(this.words, this.describe(this.panels[index].run, selected));
  }

  clear() {
    const hadSelection = this.current !== null;
    this.pick(NONE, null);
    return hadSelection;
  }

  get pass() {
    return this.current?.target.pass;
  }

  // Selects a pass and makes it visible.
  go(index, pass) {
    const { timeline, run } = this.panels[index];
    this.pick(index, { pass, device: deviceOf(run.rows, pass) });
    this.reveal(run.rows.start[pass], run.rows.end[pass]);
    const { top, height } = timeline.boxOf(pass);
    const box = timeline.canvas.getBoundingClientRect();
    const above = 110;  // height of the fixed header
    const y = box.top + top;
    if (y < above) window.scrollBy(0, y - above - 40);
    else if (y + height > window.innerHeight - 20)
      window.scrollBy(0, y + height - window.innerHeight + 120);
  }

  // Makes a range of time visible, and zooms in if it is too narrow.
  reveal(start, end) {
    const { view } = this;
    const length = Math.max(end - start, 1);
    const minLength = view.width / 12;
    const narrow = (length / (view.to - view.from)) * view.width < 12;
    if (narrow) view.show(start - length * (minLength / 24), end + length * (minLength / 24));
    else if (start < view.from || end > view.to)
      view.pan((start + end) / 2 - (view.from + view.to) / 2);
  }

  zoomToPass() {
    const pass = this.pass;
    if (pass === undefined) return false;
    const { rows } = this.panels[this.current.index].run;
    const length = Math.max(rows.end[pass] - rows.start[pass], 1);
    this.view.show(rows.start[pass] - 3 * length, rows.end[pass] + 3 * length);
    return true;
  }

  // Selects the previous (-1) or the next (1) pass on the device.
  along(by) {
    if (this.pass === undefined) return this.enter();
    const { index } = this.current;
    const { rows } = this.panels[index].run;
    const device = deviceOf(rows, this.pass);
    const next = this.pass + by;
    if (next < rows.first[device] || next >= rows.first[device + 1]) return true;
    this.go(index, next);
    return true;
  }

  // Selects the pass at the same time on the device above (-1) or below (1).
  across(by) {
    if (this.pass === undefined) return false;
    const { index } = this.current;
    const { rows } = this.panels[index].run;
    const device = deviceOf(rows, this.pass) + by;
    if (device < 0 || device >= rows.devices) return true;
    if (rows.first[device] === rows.first[device + 1]) return true;
    const middle = (rows.start[this.pass] + rows.end[this.pass]) / 2;
    const after = firstAbove(rows.start, rows.first[device], rows.first[device + 1], middle);
    this.go(index, Math.max(rows.first[device], after - 1));
    return true;
  }

  // Selects the pass that produced the input (-1), or a pass that receives the output (1).
  alongTransfers(by) {
    if (this.pass === undefined) return false;
    const { index } = this.current;
    const { transfers } = this.panels[index].run.lanes;
    const input = transfers.input[this.pass];
    const made = outputsOf(transfers, this.pass)[0] ?? NONE;
    const next = by < 0 ? transfers.maker[input] : transfers.taker[made];
    if (next !== undefined && next !== NONE) this.go(index, next);
    return true;
  }

  // Selects the first visible pass.
  enter() {
    for (const [index, { run: { rows } }] of this.panels.entries())
      for (let device = 0; device < rows.devices; ++device) {
        const end = rows.first[device + 1];
        const pass = firstAbove(rows.start, rows.first[device], end, this.view.from - 1);
        if (pass === end || rows.start[pass] > this.view.to) continue;
        this.go(index, pass);
        return true;
      }
    return false;
  }
}
