// The memory of each device over time, all categories together: a stepped line a device. uPlot does
// axes and scales; the lines come from the columns of rows.js, which have times of their own for
// each device.

const MEMORY_HEIGHT = 150;
const MEMORY_TOP = 8;
const MEMORY_BOTTOM = 6;

// Round numbers of bytes from 0: 1, 2 or 5 times a power of ten of a binary unit.
function byteTicks(most) {
  let unit = 1;
  while (most / unit >= 1024) unit *= 1024;
  const step = roundStep(most / unit / 6) * unit;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

class MemoryChart {
  // `most`: bytes at the top of the chart; of all runs, so that charts compare.
  constructor(run, element, view, most) {
    this.run = run;
    this.element = element;
    this.view = view;
    this.most = most;
  }

  rebuild(theme, splits) {
    this.chart?.destroy();
    const { devices } = this.run.rows;
    this.splits = splits;
    const line = (device) => ({
      stroke: rampColour(theme.ramp, devices > 1 ? device / (devices - 1) : 0.3),
      width: devices > 16 ? 1 : 1.5,
      points: { show: false },
      paths: (chart) => ({ stroke: this.path(chart, device) }),
    });
    this.chart = new uPlot({
      width: this.view.left + this.view.width + RIGHT_MARGIN,
      height: MEMORY_HEIGHT,
      padding: [MEMORY_TOP, RIGHT_MARGIN, MEMORY_BOTTOM, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: () => [this.view.from, this.view.to] },
        y: { range: () => [0, this.most] },
      },
      axes: [
        {
          size: 0, values: () => [], splits: () => this.splits, ticks: { show: false },
          grid: { stroke: theme.line, width: 1 },
        },
        {
          size: this.view.left, stroke: theme.ink, font: `11px ${FONT}`, gap: 8,
          splits: () => byteTicks(this.most),
          values: (_, values) => values.map((bytes) => formatBytes(bytes).replace(".0 ", " ")),
          ticks: { show: false }, grid: { stroke: theme.line, width: 1 },
        },
      ],
      series: [{}, ...Array.from({ length: devices }, (_, device) => line(device))],
      hooks: { draw: [(chart) => this.drawCapacity(chart, theme)] },
    }, this.data(), this.element);
  }

  // uPlot decides by its data what there is to draw; the lines take their points elsewhere.
  data() {
    return [[this.view.from, this.view.to],
            ...Array.from({ length: this.run.rows.devices }, () => [0, 0])];
  }

  draw(splits) {
    this.splits = splits;
    this.chart.setData(this.data());
  }

  // Changes that fall on one pixel column become one stroke from the least to the most.
  path(chart, device) {
    const { memory } = this.run.rows;
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

  drawCapacity(chart, theme) {
    const { ctx, bbox } = chart;
    const scale = uPlot.pxRatio;
    ctx.save();
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 1.5 * scale;
    ctx.setLineDash([7 * scale, 4 * scale]);
    for (const bytes of capacitiesOf(this.run)) {
      if (bytes > this.most) continue;
      const y = bbox.top + bbox.height * (1 - bytes / this.most);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
    ctx.restore();
  }

  // The device whose line is nearest to a point of the chart, in CSS pixels, with what it holds.
  at(x, y) {
    const { rows, makespan } = this.run;
    const time = this.view.time(x);
    if (x < this.view.left || time < 0 || time > makespan) return null;
    const height = MEMORY_HEIGHT - MEMORY_TOP - MEMORY_BOTTOM;
    const pointed = (1 - (y - MEMORY_TOP) / height) * this.most;
    let best = null;
    for (let device = 0; device < rows.devices; ++device) {
      const bytes = memoryAt(rows.memory, device, time);
      const distance = Math.abs(bytes - pointed);
      if (!best || distance < best.distance) best = { device, time, bytes, distance };
    }
    return best;
  }
}

// Those that are known, each once.
function capacitiesOf(run) {
  return [...new Set(run.capacities)].filter((bytes) => bytes > 0);
}

// The chart's top: with the capacities, unless they would press the lines together.
function memoryScale(runs) {
  const peak = Math.max(...runs.map((run) => peakMemory(run.rows.memory)));
  const capacities = runs.flatMap(capacitiesOf).filter((bytes) => bytes <= 2.5 * peak);
  return 1.06 * Math.max(peak, ...capacities);
}

// The most bytes that a device of a run ever holds, or one device of it.
function peakMemory(memory, first = 0, last = memory.first.length - 1) {
  let peak = 0;
  for (let i = memory.first[first]; i < memory.first[last]; ++i)
    if (memory.bytes[i] > peak) peak = memory.bytes[i];
  return peak;
}
