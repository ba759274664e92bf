// The interface of the page for tests and the console: window.pipewright. Times are in seconds.

import { page } from "./page_data.js";
import { pieceAt } from "./panels/links.js";
import { heldAt, memoryAt } from "./panels/memory.js";
import { IDLE_CAUSES, NONE, TRAFFIC, perSecond } from "./rows.js";
import { LANE_COLOURS } from "./timeline/paints.js";
import { eachByDevice } from "./timeline/spans.js";

export function expose(runs, runPage) {
  const { view } = runPage;
  window.pipewright = {
    runs: runs.map(({ name, rows, lanes, memory, use }) => ({
      name,
      devices: rows.devices,
      passes: rows.count,
      pass(device, index) {
        const i = rows.first[device] + index;
        const times = ["start", "end", "released", "ready"];
        const names = ["stage", "chunk", "microbatch", "iteration"];
        return Object.fromEntries([
          ["kind", page.kinds[rows.kind[i]].letter],
          ...names.map((column) => [column, rows[column][i]]),
          ...times.map((column) => [column, rows[column][i] / perSecond]),
        ]);
      },
      ...exposeLanes(rows, lanes),
      memoryAt: (device, seconds) => memoryAt(memory, device, seconds * perSecond),
      heldAt: (device, seconds) => [...heldAt(memory, device, seconds * perSecond)],
      useAt(link, seconds) {
        const { low, high } = pieceAt(use, link, seconds * perSecond);
        return Array.from({ length: high - low }, (_, i) => ({
          traffic: page.traffic[use.traffic[low + i]].words,
          bytes: use.bytes[low + i],
          flows: use.flows[low + i] / perSecond,
          waited: use.waited[low + i] / perSecond,
        }));
      },
    })),
    laneColours: () => LANE_COLOURS,
    range: () => ({ from: view.from / perSecond, to: view.to / perSecond }),
    show: (from, to) => view.show(from * perSecond, to * perSecond),
    // Returns the point in the browser window where a time on a device's row of passes is drawn.
    place(run, device, seconds) {
      const { canvas, timeline: { layout } } = runPage.panels[run];
      const { left, top } = canvas.getBoundingClientRect();
      const y = top + layout.top(device) + 0.45 * layout.row;
      return { x: left + view.x(seconds * perSecond), y };
    },
    // Returns the point in the browser window where a time in a device's lane is drawn.
    placeInLane(run, device, name, seconds) {
      const { canvas, timeline: { layout } } = runPage.panels[run];
      const { left, top } = canvas.getBoundingClientRect();
      const lane = layout.laneTop(device, layout.lanes.indexOf(name)) + layout.lane / 2;
      return { x: left + view.x(seconds * perSecond), y: top + lane };
    },
    lanes: (run) => runPage.timelines[run].layout.lanes,
    // Returns the transfer arrows that are currently drawn, with their times in seconds.
    arrows: (run) => runPage.timelines[run].overlay.arrows.map((arrow) => ({
      ...arrow, posted: arrow.posted / perSecond, end: arrow.end / perSecond,
    })),
    redraw: () => runPage.draw(),
    memoryTop: () => runPage.panels.find(({ memory }) => memory)?.memory.stack.maxBytes,
  };
}

// Returns functions that list transfers, collectives, steps, idle times and the critical path.
function exposeLanes(rows, { transfers, collectives, steps, idle, critical }) {
  const table = (source, names, times, more = () => ({})) => () => {
    const list = [];
    eachByDevice(source, (i, device) => list.push({
      device,
      ...Object.fromEntries(names.map((name) => [name, source[name][i]])),
      ...Object.fromEntries(times.map((name) => [name, source[name][i] / perSecond])),
      ...more(i),
    }));
    return list;
  };
  return {
    transfers: table(transfers, ["source", "stage", "microbatch", "bytes"],
                     ["posted", "start", "end"], (i) => ({ kind: TRAFFIC[transfers.kind[i]] })),
    collectives: table(collectives, ["stage", "bytes"], ["posted", "start", "end"]),
    steps: table(steps, [], ["start", "reduced", "synchronized", "updated", "end"]),
    idle: table(idle, ["stage", "microbatch"], ["start", "end"],
                (i) => ({ cause: IDLE_CAUSES[idle.cause[i]] })),
    critical: () => Array.from(critical.part, (part, i) => ({
      part, device: critical.device[i], end: critical.end[i] / perSecond,
      ...(critical.pass[i] === NONE ? {} : {
        kind: page.kinds[rows.kind[critical.pass[i]]].letter,
        stage: rows.stage[critical.pass[i]],
        microbatch: rows.microbatch[critical.pass[i]],
      }),
    })),
  };
}
