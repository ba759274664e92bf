// Puts the page together and redraws it when the view, its size or the theme changes.

const page = JSON.parse(document.getElementById("data").textContent);
const perSecond = 10 ** page.tick_digits;
const element = (id) => document.getElementById(id);

async function loadRuns() {
  return Promise.all(page.runs.map(async (run, i) => {
    const rows = await unpackRows(element(`rows-${i}`).textContent, run.hosts.length);
    return { ...run, rows };
  }));
}

class Page {
  constructor(runs) {
    this.runs = runs;
    this.view = new View(Math.max(...runs.map((run) => run.makespan)));
    this.view.changed = () => this.schedule();
    this.describer = new Describer(page.kinds, perSecond, this.view.total);
    this.tooltip = new Tooltip(element("tooltip"));
    const most = memoryScale(runs);
    this.panels = runs.map((run) => {
      const parts = sectionOf(run, most);
      element("panels").append(parts.section);
      return {
        run, ...parts,
        timeline: new Timeline(run, parts.canvas),
        chart: parts.memory && new MemoryChart(run, parts.memory, this.view, most),
      };
    });
    this.listen();
    this.resize();
  }

  listen() {
    for (const { run, canvas, memory, timeline, chart } of this.panels) {
      this.follow(canvas, (x, y) => {
        const found = timeline.at(this.view, x, y);
        if (!found) return null;
        return found.pass === undefined ? this.describer.gap(run, found)
                                        : this.describer.pass(run, found.device, found.pass);
      });
      if (!memory) continue;
      this.follow(memory, (x, y) => {
        const found = chart.at(x, y);
        return found && this.describer.memory(run, found);
      });
    }
    listenToKeys(this.view);
    element("fit").onclick = () => this.view.fit();
    element("closer").onclick = () => this.view.zoom(1 / ZOOM_STEP);
    element("farther").onclick = () => this.view.zoom(ZOOM_STEP);
    new ResizeObserver(() => this.resize()).observe(element("panels"));
    for (const query of ["(prefers-color-scheme: dark)", "print"])
      matchMedia(query).addEventListener("change", () => this.restyle(matchMedia("print").matches));
    addEventListener("beforeprint", () => this.restyle(true));
    addEventListener("afterprint", () => this.restyle(false));
  }

  // Shows what `describe` says of the point under the pointer, and a line at its time.
  follow(target, describe) {
    let last = null;
    target.addEventListener("pointermove", (event) => { last = event; }, { capture: true });
    listenToPointer(target, this.view, element("selection"), (x, y) => {
      const inside = x !== null && x >= this.view.left && x <= this.view.left + this.view.width;
      element("crosshair").hidden = !inside;
      if (inside) element("crosshair").style.transform = `translateX(${Math.round(x)}px)`;
      const words = x === null ? null : describe(x, y);
      if (words) this.tooltip.show(last, words);
      else this.tooltip.hide();
    });
  }

  resize() {
    const width = element("panels").clientWidth;
    if (width === this.width && devicePixelRatio === this.scale) return;
    this.width = width;
    this.scale = devicePixelRatio;
    this.view.left = gutterWidth(this.runs, width);
    this.view.width = Math.max(50, width - this.view.left - RIGHT_MARGIN);
    this.restyle(false);
  }

  restyle(printing) {
    document.documentElement.classList.toggle("printing", printing);
    this.theme = readTheme();
    const { splits } = this.ticks();
    for (const { section, chart } of this.panels) {
      chart?.rebuild(this.theme, splits);
      const ramp = section.querySelector(".ramp");
      if (ramp) ramp.style.background = `linear-gradient(90deg, ${this.theme.ramp})`;
    }
    this.draw();
  }

  schedule() {
    this.tooltip.hide();
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
      this.drawMemory();
    });
  }

  ticks() {
    const { ticks, unit } = ticksOfView(this.view, perSecond);
    return { ticks, unit, splits: ticks.map((tick) => tick.seconds * perSecond) };
  }

  draw() {
    const { splits, ticks, unit } = this.ticks();
    drawAxis(element("axis"), this.view, ticks, unit, perSecond, this.theme);
    for (const { timeline } of this.panels) timeline.draw(this.view, splits, this.theme);
  }

  // Many lines take longer than a frame, so they follow the view at a slower pace.
  drawMemory() {
    const lines = this.runs.reduce((sum, run) => sum + run.rows.devices, 0);
    const pause = lines <= 24 ? 0 : 120;  // ms
    const redraw = () => {
      this.memoryTimer = null;
      const { splits } = this.ticks();
      for (const { chart } of this.panels) chart?.draw(splits);
    };
    if (pause === 0) redraw();
    else this.memoryTimer ??= setTimeout(redraw, pause);
  }
}

// What tests and the console see of the page; times are seconds.
function expose(runs, made) {
  const { view } = made;
  window.pipewright = {
    runs: runs.map(({ name, rows }) => ({
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
      memoryAt: (device, seconds) => memoryAt(rows.memory, device, seconds * perSecond),
    })),
    range: () => ({ from: view.from / perSecond, to: view.to / perSecond }),
    show: (from, to) => view.show(from * perSecond, to * perSecond),
    // Where a time on a device of a run is in the window.
    place(run, device, seconds) {
      const { canvas, timeline } = made.panels[run];
      const { left, top } = canvas.getBoundingClientRect();
      return { x: left + view.x(seconds * perSecond), y: top + (device + 0.4) * timeline.rowHeight };
    },
  };
}

async function main() {
  const names = [...new Set(page.runs.map((run) => run.name))].join(", ");
  document.title = `pipewright: ${names}`;
  document.querySelector("h1").textContent = names;
  fillTable(element("table"), page.table);
  const runs = await loadRuns();
  fillLegend(element("legend"), page, runs);
  expose(runs, new Page(runs));
}

main().catch((error) => {
  element("problem").textContent = `This page cannot be shown: ${error.message}`;
  element("problem").hidden = false;
  throw error;
});
