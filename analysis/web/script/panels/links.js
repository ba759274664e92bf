// How full the busiest links are over time: a strip a link, from empty to its whole bandwidth,
// stacked by class of traffic. A bar above a piece says that flows waited for one another there. What
// jobs that ran at once carry hangs from above: what is between is free.

const STRIP_HEIGHT = 30;
const STRIP_GAP = 5;
const WAIT_BAR = 4;
const STRIP_ROOM = STRIP_HEIGHT - STRIP_GAP - WAIT_BAR;
const FIRST_STRIPS = 8;
const OTHERS_ALPHA = 0.4;

// A link of a run in those that went on at once and used it, too.
function sameLink(run, link) {
  const { name } = run.links[link];
  return (run.others ?? []).flatMap((other) => {
    other.linkNumbers ??= new Map(other.links.map((one, number) => [one.name, number]));
    const number = other.linkNumbers.get(name);
    return number === undefined ? [] : [{ other, number }];
  });
}

// Of the bandwidth that others take at a time.
function othersShare(run, link, time) {
  let sum = 0;
  for (const { other, number } of sameLink(run, link)) {
    const { low, high } = pieceAt(other.use, number, time);
    for (let row = low; row < high; ++row)
      sum += shareOf(other.use, row, other.links[number].bandwidth);
  }
  return sum;
}

class LinkStrips {
  constructor(run, traffic, canvas, view) {
    this.run = run;
    this.traffic = traffic;
    this.canvas = canvas;
    this.view = view;
    this.timed = [...run.links.keys()].filter((link) => hasPieces(run.use, link, run.makespan));
    this.isShared = this.timed.some((link) => sameLink(run, link).length > 0);
    if (this.isShared)  // those first
      this.timed.sort((a, b) => sameLink(run, b).length - sameLink(run, a).length);
    this.shown = this.timed.slice(0, FIRST_STRIPS);
  }

  showAll() {
    this.shown = this.timed;
    this.draw();
  }

  rebuild(theme) {
    this.theme = theme;
    this.draw();
  }

  draw() {
    const { canvas, view, theme } = this;
    const height = this.shown.length * STRIP_HEIGHT;
    const scale = sizeCanvas(canvas, view.left + view.width + RIGHT_MARGIN, height);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = `11px ${FONT}`;
    context.textBaseline = "middle";
    this.shown.forEach((link, k) => {
      const top = k * STRIP_HEIGHT;
      this.label(context, link, top);
      context.save();
      context.beginPath();
      context.rect(view.left, top, view.width, STRIP_HEIGHT);
      context.clip();
      const until = view.x(this.run.makespan);
      context.fillStyle = theme.idle;
      context.fillRect(view.left, top + WAIT_BAR, until - view.left, STRIP_ROOM);
      this.pieces(context, link, top, 1 / scale);
      this.others(context, link, top, 1 / scale);
      context.restore();
    });
  }

  // Names are cut where the gutter ends: the tooltip has them whole.
  label(context, link, top) {
    const { name } = this.run.links[link];
    const room = this.view.left - 8;
    let text = shortened(name, 60);
    let most = [...text].length;
    while (context.measureText(text).width > room && most > 1) text = shortened(name, --most);
    context.fillStyle = this.theme.ink;
    context.textAlign = "left";
    context.fillText(text, 0, top + WAIT_BAR + STRIP_ROOM / 2);
  }

  // `pixel`: of the screen, in CSS pixels; pieces of time end on whole ones.
  pieces(context, link, top, pixel) {
    const { view, run: { use, links }, traffic, theme } = this;
    const { bandwidth } = links[link];
    const height = STRIP_ROOM;
    const snap = (x) => Math.round(x / pixel) * pixel;
    const end = use.first[link + 1];
    let i = firstAbove(use.end, use.first[link], end, view.from);
    while (i < end && use.start[i] < view.to) {
      const next = nextPiece(use, i, end);
      const left = snap(view.x(use.start[i]));
      const width = Math.max(pixel, snap(view.x(use.end[i])) - left);
      let bottom = top + WAIT_BAR + height;
      let [flows, waited] = [0, 0];
      for (let row = i; row < next; ++row) {
        const share = shareOf(use, row, bandwidth);
        // However little it is, it shows.
        const part = Math.min(Math.max(share * height, pixel), bottom - top - WAIT_BAR);
        context.fillStyle = traffic[use.traffic[row]].fill;
        context.fillRect(left, bottom - part, width, part);
        bottom -= part;
        flows += use.flows[row];
        waited += use.waited[row];
      }
      if (waited > 0) {
        context.globalAlpha = 0.35 + 0.65 * Math.min(1, waited / Math.max(flows, waited));
        context.fillStyle = theme.accent;
        context.fillRect(left, top, width, WAIT_BAR - 1);
        context.globalAlpha = 1;
      }
      i = next;
    }
  }

  // Of each column of the screen the sum over jobs, whose pieces of time are not the same.
  others(context, link, top, pixel) {
    const { view, run, theme } = this;
    const sums = new Float64Array(Math.ceil(view.width / pixel) + 1);
    for (const { other, number } of sameLink(run, link)) {
      const { use, links } = other;
      for (let i = use.first[number]; i < use.first[number + 1]; ++i) {
        if (use.end[i] <= view.from || use.start[i] >= view.to) continue;
        const column = (time) => Math.round((view.x(time) - view.left) / pixel);
        const from = Math.max(0, column(use.start[i]));
        const share = shareOf(use, i, links[number].bandwidth);
        for (let k = from; k < Math.min(sums.length, Math.max(from + 1, column(use.end[i]))); ++k)
          sums[k] += share;
      }
    }
    context.fillStyle = theme.ink;
    context.globalAlpha = OTHERS_ALPHA;
    sums.forEach((share, k) => {
      if (share > 0)
        context.fillRect(view.left + k * pixel, top + WAIT_BAR, pixel,
                         Math.max(pixel, Math.min(1, share) * STRIP_ROOM));
    });
    context.globalAlpha = 1;
  }

  at(x, y) {
    const time = this.view.time(x);
    const link = this.shown[Math.floor(y / STRIP_HEIGHT)];
    if (link === undefined || time < 0 || time > this.run.makespan) return null;
    return { link, time: x < this.view.left ? null : time };
  }
}

// Of the bandwidth that a row of a link's use took.
function shareOf(use, row, bandwidth) {
  const seconds = (use.end[row] - use.start[row]) / perSecond;
  return bandwidth > 0 && seconds > 0 ? use.bytes[row] / (bandwidth * seconds) : 0;
}

// What a link does at a time, in words for the tooltip.
function describeLink(describer, run, traffic, { link, time }) {
  const { name, bandwidth, alike } = run.links[link];
  const lines = [["bandwidth", formatBandwidth(bandwidth)]];
  if (alike > 1) lines.push(["stands for", `${alike} links that fared alike`]);
  const head = shortened(name, 120);
  if (time === null) return { head, lines };
  lines.push(["at", describer.instant(time)]);
  const { use } = run;
  const { low, high } = pieceAt(use, link, time);
  const others = othersShare(run, link, time);
  if (others > 0) lines.push(["other jobs", formatPercent(others)]);
  if (low === high) return { head, lines: [...lines, ["carries", "nothing"]] };
  const length = use.end[low] - use.start[low];
  lines.push(["in a piece of", describer.length(length)]);
  let [used, flows, waited] = [0, 0, 0];
  for (let row = low; row < high; ++row) {
    const share = shareOf(use, row, bandwidth);
    used += share;
    flows += use.flows[row];
    waited += use.waited[row];
    const { words } = traffic[use.traffic[row]];
    lines.push([words, `${formatBytes(use.bytes[row])}, ${formatPercent(share)}`]);
  }
  lines.push(["bandwidth in use", formatPercent(used)],
             ["flows at once", (flows / length).toFixed(2)]);
  if (waited > 0)
    lines.push(["waited for others",
                `${describer.length(waited)} of ${describer.length(flows)} of flows`]);
  return { head, lines };
}

// The use of links over time.

// The first row of the piece of time after that of row `i`.
function nextPiece(use, i, end) {
  const { start } = use;
  let next = i + 1;
  while (next < end && start[next] === start[i]) ++next;
  return next;
}

// Whether a link's use is known in pieces of the run rather than as a whole.
function hasPieces(use, link, makespan) {
  for (let i = use.first[link]; i < use.first[link + 1]; ++i)
    if (use.end[i] - use.start[i] <= makespan / 2) return true;
  return false;
}

// Rows [low, high) of the piece of a link's use that holds a time; empty where nothing was on it.
function pieceAt(use, link, time) {
  const [begin, end] = [use.first[link], use.first[link + 1]];
  const after = firstAbove(use.start, begin, end, time);
  let low = after;
  while (low > begin && use.start[low - 1] === use.start[after - 1]) --low;
  return low < after && use.end[low] > time ? { low, high: after } : { low: after, high: after };
}

// The strips of a run's busiest links with their legend. A run without links has none.

const LACKS_COLLECTIVES = "without collectives within passes, which this run simulated apart; " +
  "communication.detail: full counts them";

// Whether passes wait for collectives that no link carries.
function lacksCollectives({ lanes, use }) {
  return !use.traffic.includes(TRAFFIC.indexOf("in_passes")) &&
    [...lanes.waits.values()].flat().some((ticks) => ticks > 0);
}

class LinkPanel {
  constructor(run, traffic, view) {
    this.run = run;
    this.canvas = document.createElement("canvas");
    this.strips = new LinkStrips(run, traffic, this.canvas, view);
    this.element = detailsElement("", true, this.legend(traffic), this.canvas);
    if (lacksCollectives(run)) this.element.append(textElement("p", LACKS_COLLECTIVES, "note"));
    this.element.className = "links";
    this.title();
    this.element.addEventListener("toggle", () => this.strips.theme && this.draw());
  }

  static of(run, traffic, view) {
    const panel = new LinkPanel(run, traffic, view);
    return panel.strips.timed.length > 0 ? panel : null;
  }

  get targets() {
    return [[this.canvas, (x, y) => this.strips.at(x, y)]];
  }

  rebuild(theme) {
    this.strips.theme = theme;
    this.draw();
  }

  draw() {
    if (this.element.open) this.strips.draw();
  }

  title() {
    const { shown, timed, isShared } = this.strips;
    const busiest = shown.length < timed.length ? `the ${shown.length} busiest of ` : "";
    this.element.querySelector("summary").textContent =
      `links: share of the bandwidth in use, ${busiest}${timed.length} ` +
      (timed.length === 1 ? "link" : "links") + (isShared ? ", first those of several jobs" : "");
  }

  legend(traffic) {
    const line = captionLine();
    const { use } = this.run;
    const used = new Set(use.traffic);
    traffic.forEach((one, k) => {
      if (used.has(k)) line.append(colourEntry(one.fill, one.words));
    });
    if (this.strips.isShared)
      line.append(colourEntry(`color-mix(in srgb, var(--ink) ${100 * OTHERS_ALPHA}%, var(--idle))`,
                              "from above: other jobs"));
    if (use.waited.some((flows) => flows > 0))
      line.append(colourEntry("var(--accent)", "above: flows waited for one another"));
    if (this.strips.shown.length < this.strips.timed.length) {
      const button = textElement("button", `show all ${this.strips.timed.length}`);
      button.onclick = () => {
        this.strips.showAll();
        this.title();
        button.remove();
      };
      line.append(button);
    }
    return line;
  }
}

// What each link carried in the whole run.

function linkTable(run, traffic) {
  const carried = traffic.map((_, k) => run.links.some((link) => link.bytes[k] > 0));
  const column = (head, value, cell, anchor) => ({ head, value, cell, anchor });
  const number = (head, value, text, anchor) =>
    column(head, value, (link) => (value(link) === null ? "\u2013" : text(value(link))), anchor);
  return sortableTable([
    column("link", (link) => link.name, (link) => nameElement("span", link.name)),
    column("class", (link) => link.link_class, (link) => nameElement("span", link.link_class)),
    number("alike", (link) => link.alike, String, "alike"),
    number("bandwidth", (link) => link.bandwidth, formatBandwidth),
    ...traffic.flatMap(({ words }, k) =>
      (carried[k] ? [number(words, (link) => link.bytes[k], formatBytes)] : [])),
    number("mean use", (link) => link.mean_use, formatPercent, "link-use"),
    number("peak use", (link) => link.peak_use, formatPercent, "link-use"),
    number("waited", (link) => link.waited_s, formatSeconds, "waited"),
  ], run.links);
}
