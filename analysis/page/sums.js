// What the spans of a strip sum up to from the start of the run on, at steps of equal length: with
// them a pixel takes the same time however many spans it stands for.

const SUM_STEPS = 8192;

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

  // Whether a pixel is long enough for the steps not to show.
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
