// Charts of bytes below the timeline, on its time axis. uPlot draws axes, grid and scales. The series
// bring their own paths, since their points come from separate columns for each device.

import { FONT } from "../theme.js";
import { RIGHT_MARGIN } from "../timeline/view.js";
import { formatBytes, roundStep } from "../units.js";

export const PLOT_TOP = 8;
export const PLOT_BOTTOM = 6;

// Tick positions of an axis in bytes, from 0 on; the step is 1, 2 or 5 times a power of ten, in
// KiB, MiB, GiB and so on.
function byteTicks(maxBytes, height) {
  let unit = 1;
  while (maxBytes / unit >= 1024) unit *= 1024;
  const step = roundStep(maxBytes / unit / Math.max(2, Math.floor(height / 26))) * unit;
  return Array.from({ length: Math.floor(maxBytes / step) + 1 }, (_, i) => i * step);
}

// Charts bytes over time. `splits`: times with ticks on the axis; `draw`: draws on top of the
// chart.
export function timePlot(element, { view, height, maxBytes, theme, splits, series, draw }) {
  let ticks = splits;
  // uPlot draws only series with data, so it gets dummy values; the series' own paths ignore them.
  const data = () => [[view.from, view.to], ...series.map(() => [0, 0])];
  const chart = new uPlot({
    width: view.left + view.width + RIGHT_MARGIN,
    height,
    padding: [PLOT_TOP, RIGHT_MARGIN, PLOT_BOTTOM, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: () => [view.from, view.to] },
      y: { range: () => [0, maxBytes] },
    },
    axes: [
      {
        size: 0, values: () => [], splits: () => ticks, ticks: { show: false },
        grid: { stroke: theme.line, width: 1 },
      },
      {
        size: view.left, stroke: theme.ink, font: `11px ${FONT}`, gap: 8,
        splits: () => byteTicks(maxBytes, height),
        values: (_, values) => values.map((bytes) => formatBytes(bytes).replace(".0 ", " ")),
        ticks: { show: false }, grid: { stroke: theme.line, width: 1 },
      },
    ],
    series: [{}, ...series],
    hooks: { draw: [draw] },
  }, data(), element);
  chart.redrawAt = (times) => {
    ticks = times;
    chart.setData(data());
  };
  return chart;
}

export function drawCapacity({ ctx, bbox }, bytes, maxBytes, theme) {
  if (!bytes || bytes > maxBytes) return;
  const scale = uPlot.pxRatio;
  const y = bbox.top + bbox.height * (1 - bytes / maxBytes);
  ctx.save();
  ctx.strokeStyle = theme.accent;
  ctx.lineWidth = 1.5 * scale;
  ctx.setLineDash([7 * scale, 4 * scale]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}
