// The parts of the page that are made once: table, legend, and a section for each run.

function fillTable(table, columns) {
  const head = document.createElement("tr");
  for (const column of columns) {
    const cell = textElement("th", column.head);
    cell.scope = "col";
    if (column.meaning) cell.title = column.meaning;
    head.append(cell);
  }
  table.createTHead().append(head);
  const body = table.createTBody();
  columns[0].cells.forEach((_, row) => {
    const line = body.insertRow();
    for (const column of columns) {
      const cell = column.cells[row].replace(/(\d|to) /g, "$1\u00a0");  // no break before a unit
      line.append(textElement("td", cell));
    }
  });
}

function fillLegend(legend, page, runs) {
  const entry = (swatch, words) => {
    const element = document.createElement("span");
    element.append(swatch, words);
    legend.append(element);
  };
  const swatch = (colours, name = "") => {
    const element = document.createElement("span");
    element.className = "swatch";
    for (const colour of colours) {
      const field = document.createElement("i");
      field.className = name;
      if (colour) field.style.background = colour;
      element.append(field);
    }
    return element;
  };
  const widest = runs.reduce((most, run) => (run.chunks > most.chunks ? run : most));
  page.kinds.forEach((kind, k) => {
    if (!runs.some((run) => run.rows.kind.includes(k))) return;
    const shades = widest.colours[k].slice(0, 8).map((colour) => colour.fill);
    entry(swatch(shades), `${kind.words} (${kind.letter})`);
  });
  const blocked = runs.some(({ rows }) => rows.released.some((time, i) => time > rows.end[i]));
  if (blocked) entry(swatch([""], "hatched"), "blocked by its send");
  entry(swatch(["var(--idle)"]), "idle");
  const shades = widest.chunks > 1 ? `dark to light: chunk 0 to ${widest.chunks - 1}; ` : "";
  const pairs = runs.some(({ rows }) => rows.partner.some((at) => at !== 0))
    ? "one above the other: fused; " : "";
  const words = `${shades}${pairs}numbers: microbatch; passes narrower than a pixel mix their colours`;
  const note = textElement("span", words);
  note.className = "note";
  legend.append(note);
}

// The scenario and what else tells how a run came about.
function factsOf(run) {
  const details = document.createElement("details");
  details.append(textElement("summary", "scenario"));
  const facts = document.createElement("dl");
  for (const [name, value] of Object.entries(run.facts))
    if (value) facts.append(textElement("dt", name), textElement("dd", value));
  details.append(facts);
  if (run.scenario) details.append(textElement("pre", run.scenario));
  return details;
}

// What the lines of a chart of memory are; `most` is its top.
function captionOf(run, most) {
  const caption = document.createElement("div");
  caption.className = "caption";
  const mark = (name) => {
    const element = document.createElement("span");
    element.className = name;
    return element;
  };
  const words = (text) => textElement("span", text);
  caption.append(words("memory of each device"));
  if (run.rows.devices > 1)
    caption.append(words("0"), mark("ramp"), words(String(run.rows.devices - 1)));
  const capacities = capacitiesOf(run);
  const shown = capacities.some((bytes) => bytes <= most);
  if (shown) caption.append(mark("dash"));
  if (capacities.length > 0)
    caption.append(words(`capacity ${capacities.map(formatBytes).join(", ")}` +
                         (shown ? "" : " (above this chart)")));
  return caption;
}

function sectionOf(run, most) {
  const section = document.createElement("section");
  const title = textElement("h2", run.name);
  title.append(textElement("small", run.details));
  const canvas = document.createElement("canvas");
  section.append(title, canvas);
  let memory = null;
  if (peakMemory(run.rows.memory) > 0) {
    memory = document.createElement("div");
    memory.className = "memory";
    section.append(captionOf(run, most), memory);
  }
  section.append(factsOf(run));
  return { section, canvas, memory };
}

// How wide the labels of the devices are, within limits.
function gutterWidth(runs, pageWidth) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `12px ${FONT}`;
  let widest = 0;
  for (const run of runs)
    run.hosts.forEach((host, device) => {
      const width = context.measureText(`device ${device}`).width;
      const both = width + 26 + context.measureText(host).width;
      widest = Math.max(widest, width + 12, both <= pageWidth * 0.22 ? both : 0);
    });
  return Math.ceil(Math.max(84, widest));
}
