// The pass or transfer that the reader keeps, with its description in a corner of the window, and
// the ways from one pass to another.

class Selection {
  // `panels`: of each run its timeline; `describe(run, found)`: what to say.
  constructor(panels, view, describe) {
    Object.assign(this, { panels, view, describe });
    this.current = null;  // {index, what}: of which run, and {pass, device} or {transfer, device}
    this.box = document.createElement("aside");
    this.box.id = "picked";
    this.box.hidden = true;
    this.box.setAttribute("aria-live", "polite");
    this.box.setAttribute("aria-label", "selection");
    this.words = document.createElement("div");
    const close = textElement("button", "\u00d7");
    close.title = "let go (Esc)";
    close.setAttribute("aria-label", "let the selection go");
    close.onclick = () => this.clear();
    this.box.append(this.words, close);
    document.body.append(this.box);
  }

  pick(index, what) {
    const kept = what && (what.pass !== undefined || what.transfer !== undefined) ? what : null;
    this.current = kept && { index, what: kept };
    this.panels.forEach(({ timeline }, k) => timeline.overlay.pick(k === index ? kept : null));
    this.box.hidden = !kept;
    if (kept) fillDescription(this.words, this.describe(this.panels[index].run, kept));
  }

  clear() {
    const any = this.current !== null;
    this.pick(NONE, null);
    return any;
  }

  get pass() {
    return this.current?.what.pass;
  }

  // Keeps a pass and brings it into sight.
  go(index, pass) {
    const { timeline, run } = this.panels[index];
    this.pick(index, { pass, device: deviceOf(run.rows, pass) });
    this.reveal(run.rows.start[pass], run.rows.end[pass]);
    const { top, height } = timeline.boxOf(pass);
    const box = timeline.canvas.getBoundingClientRect();
    const above = 110;  // what sticks to the top of the window
    const y = box.top + top;
    if (y < above) window.scrollBy(0, y - above - 40);
    else if (y + height > window.innerHeight - 20)
      window.scrollBy(0, y + height - window.innerHeight + 120);
  }

  // Shows a piece of time, as close as needed to see it.
  reveal(start, end) {
    const { view } = this;
    const length = Math.max(end - start, 1);
    const least = view.width / 12;
    const narrow = (length / (view.to - view.from)) * view.width < 12;
    if (narrow) view.show(start - length * (least / 24), end + length * (least / 24));
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

  // To the pass before (-1) or after (1) on the device.
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

  // To the pass at the same time on the device above (-1) or below (1).
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

  // To the pass that made the input (-1), or to one that takes what this one made (1).
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

  // The first pass in sight.
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
