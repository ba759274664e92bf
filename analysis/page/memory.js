// The memory of each device over time, all categories together: a stepped line a device.

const LINES_HEIGHT = 96;
const MOST_STROKES = 16;  // devices; of more, an image is made

class MemoryLines {
  // `most`: bytes at the top of the chart; of all runs, so that charts compare.
  constructor(run, element, view, most) {
    this.run = run;
    this.element = element;
    this.view = view;
    this.most = most;
    this.chosen = 0;  // the device whose line is thicker
  }

  rebuild(theme, splits) {
    this.chart?.destroy();
    const { devices } = this.run.rows;
    this.colours = Array.from({ length: devices }, (_, device) =>
      rampColour(theme.ramp, devices > 1 ? device / (devices - 1) : 0.3));
    const strokes = devices <= MOST_STROKES ? this.colours : [];
    const line = (stroke, device) => ({
      stroke, width: 1.5, points: { show: false },
      paths: (chart) => ({ stroke: this.path(chart, device) }),
    });
    this.chart = timePlot(this.element, {
      view: this.view, height: LINES_HEIGHT, most: this.most, theme, splits,
      series: strokes.map(line),
      draw: (chart) => {
        if (strokes.length === 0) this.paint(chart);
        this.emphasize(chart, theme);
        for (const bytes of capacitiesOf(this.run)) drawCapacity(chart, bytes, this.most, theme);
      },
    });
  }

  paint({ ctx, bbox }) {
    const { run: { memory, makespan }, view: { from, to }, most } = this;
    const [width, height] = [Math.round(bbox.width), Math.round(bbox.height)];
    this.raster ??= new MemoryRaster();
    const colours = this.colours.map((colour) => colour.match(/\d+/g).map(Number));
    const image = this.raster.paint(memory, colours,
                                    { from, to, width, height, most, until: makespan });
    ctx.drawImage(image, bbox.left, bbox.top);
  }

  draw(splits) {
    this.chart.redrawAt(splits);
  }

  emphasize(chart, theme) {
    const { ctx } = chart;
    ctx.save();
    ctx.lineWidth = 2 * uPlot.pxRatio;
    ctx.strokeStyle = theme.ink;
    ctx.stroke(this.path(chart, this.chosen));
    ctx.restore();
  }

  // Changes that fall on one pixel column become one stroke from the least to the most.
  path(chart, device) {
    const { memory } = this.run;
    const { from, to } = this.view;
    const { left, top, width, height } = chart.bbox;
    const y = (bytes) => top + height * (1 - bytes / this.most);
    const path = new Path2D();
    const end = memory.first[device + 1];
    let i = firstAbove(memory.time, memory.first[device], end, from);
    let level = y(i > memory.first[device] ? memory.bytes[i - 1] : 0);
    path.moveTo(left, level);
    while (i < end && memory.time[i] <= to) {
      const x = left + ((memory.time[i] - from) / (to - from)) * width;
      const column = Math.floor(x) + 1;
      let low = level;
      let high = level;
      path.lineTo(x, level);
      for (; i < end; ++i) {
        if (left + ((memory.time[i] - from) / (to - from)) * width >= column) break;
        level = y(memory.bytes[i]);
        if (level < low) low = level;
        if (level > high) high = level;
      }
      if (low < level) path.lineTo(x, low);
      if (high > level) path.lineTo(x, high);
      path.lineTo(x, level);
    }
    const until = Math.min(1, (this.run.makespan - from) / (to - from));
    if (until > 0) path.lineTo(left + width * until, level);
    return path;
  }

  // The device whose line is nearest to a point of the chart, in CSS pixels, with what it holds.
  at(x, y) {
    const { run: { rows, memory, makespan } } = this;
    const time = this.view.time(x);
    if (x < this.view.left || time < 0 || time > makespan) return null;
    const height = LINES_HEIGHT - PLOT_TOP - PLOT_BOTTOM;
    const pointed = (1 - (y - PLOT_TOP) / height) * this.most;
    let best = null;
    for (let device = 0; device < rows.devices; ++device) {
      const distance = Math.abs(memoryAt(memory, device, time) - pointed);
      if (!best || distance < best.distance) best = { device, distance };
    }
    return { device: best.device, time, held: heldAt(memory, best.device, time) };
  }
}
