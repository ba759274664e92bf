// The parts of the page that are made once: figures and the sections of each run.

// The figures of one run as cards, of several as a table with their differences.
function fillFigures(place, runs) {
  if (runs.length === 1) {
    place.append(nameElement("p", runs[0].details), runCards(runs[0]));
  } else {
    const wide = mark("wide", "div");
    wide.append(differenceTable(runs));
    place.append(wide);
  }
  place.append(...assumedNotes(runs.map((run) => run.summary), page.assumed_words));
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

// What stands on the common time axis of a run: timeline, memory, links.
function sectionOf(run, several, view, most) {
  const section = document.createElement("section");
  const title = document.createElement("h2");
  title.append(nameElement("span", run.name), nameElement("small", run.details));
  const canvas = document.createElement("canvas");
  if (several) section.append(title);
  section.append(canvas);
  const memory =
    peakMemory(run.memory) > 0 ? new MemoryPanel(run, page.categories, view, most) : null;
  const links = LinkPanel.of(run, page.traffic, view);
  for (const panel of [memory, links]) if (panel) section.append(panel.element);
  return { section, canvas, memory, links };
}

// What does not: tables and the scenario.
function partsOf(run, several) {
  const section = document.createElement("section");
  if (several) section.append(nameElement("h2", run.name));
  if (run.why) section.append(whyPart(run));
  section.append(detailsElement("devices", true, deviceTable(run)));
  if (run.links.length > 0)
    section.append(detailsElement("links: what each carried", false, linkTable(run, page.traffic)));
  section.append(factsOf(run));
  return section;
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
