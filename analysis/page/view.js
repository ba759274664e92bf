// The range of time that all panels show, in ticks, and where it lies on the page: from `left` over
// `width` CSS pixels.

class View {
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

  // Moves the range into the axis and keeps it wider than a few ticks.
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
