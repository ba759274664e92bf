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
    const { shown, timed } = this.strips;
    const busiest = shown.length < timed.length ? `the ${shown.length} busiest of ` : "";
    this.element.querySelector("summary").textContent =
      `links: share of the bandwidth in use, ${busiest}${timed.length} ` +
      (timed.length === 1 ? "link" : "links");
  }

  legend(traffic) {
    const line = captionLine();
    const { use } = this.run;
    const used = new Set(use.traffic);
    traffic.forEach((one, k) => {
      if (!used.has(k)) return;
      const entry = mark("entry");
      entry.append(swatch(one.fill), one.words);
      line.append(entry);
    });
    if (use.waited.some((flows) => flows > 0)) {
      const entry = mark("entry");
      entry.append(swatch("var(--accent)"), "above: flows waited for one another");
      line.append(entry);
    }
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
