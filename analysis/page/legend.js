// What the colours of the timelines stand for, in the mode that the reader chose.

function fillLegend(legend, page, runs, timelines, settings, theme) {
  const entry = (swatch, words) => {
    const element = document.createElement("span");
    element.append(swatch, words);
    return element;
  };
  const entries = [];
  const add = (swatch, words) => entries.push(entry(swatch, words));
  const { mode } = settings;
  if (mode === "microbatch" || mode === "stage") {
    const ramp = mark("ramp");
    const stops = SEQUENCES[mode][theme.dark ? "dark" : "light"];
    ramp.style.background = `linear-gradient(90deg, ${stops})`;
    add(ramp, `${mode} 0 to ${settings.counts[mode] - 1}`);
  } else {
    const widest = runs.reduce((most, run) => (run.chunks > most.chunks ? run : most));
    page.kinds.forEach((kind, k) => {
      if (!runs.some((run) => shownIn(run).kinds.has(k))) return;
      const shades = widest.colours[k].slice(0, 8).map((colour) => colour.fill);
      add(swatches(shades), `${kind.words} (${kind.letter})`);
    });
    if (mode === "critical") add(swatches([theme.dimmed]), "not on the critical path");
  }
  const shown = runs.map(shownIn);
  if (shown.some(({ blocked }) => blocked))
    add(swatches([""], "hatched"), "blocked by its send");
  const waits = runs.flatMap(({ lanes }) => [...lanes.waits.values()].flat());
  if (waits.some((ticks) => ticks > 0))
    add(swatches([""], "hatched light"), "waits for collectives within a pass");

  if (mode === "critical") add(swatches(["var(--idle)"]), "idle");
  else IDLE_GROUPS.forEach(([name, words], group) => {
    if (shown.some(({ groups }) => groups.has(group)))
      add(swatches([`var(--idle-${name})`]), `idle: ${words}`);
  });
  for (const name of laneTonesShown(timelines))
    add(swatches([LANE_COLOURS[name]]), LANE_WORDS[name]);

  const note = textElement("span", legendNote(runs, mode));
  note.className = "note";
  legend.replaceChildren(...entries, note);
}

function legendNote(runs, mode) {
  const chunks = Math.max(...runs.map((run) => run.chunks));
  const shades = chunks > 1 && (mode === "kind" || mode === "critical")
    ? `dark to light: chunk 0 to ${chunks - 1}; ` : "";
  const pairs = runs.some((run) => shownIn(run).pairs)
    ? "one above the other: fused; " : "";
  return `${shades}${pairs}numbers: microbatch; passes narrower than a pixel mix their colours`;
}

// What there is to explain in a run, found once.
function shownIn(run) {
  if (run.shown) return run.shown;
  const { rows, lanes: { idle } } = run;
  let blocked = false;
  let pairs = false;
  for (let i = 0; i < rows.count; ++i) {
    blocked ||= rows.released[i] > rows.end[i];
    pairs ||= rows.partner[i] !== 0;
  }
  run.shown = { blocked, pairs, kinds: valuesOf(rows.kind), groups: valuesOf(idle.tone) };
  return run.shown;
}

function valuesOf(column) {
  const seen = new Uint8Array(256);
  for (let i = 0; i < column.length; ++i) seen[column[i]] = 1;
  return new Set([...seen.keys()].filter((value) => seen[value] === 1));
}

function laneTonesShown(timelines) {
  const shown = new Set();
  for (const timeline of timelines)
    for (const lane of timeline.layout.lanes)
      for (const tone of timeline.laneTones(lane)) shown.add(LANE_TONES[tone]);
  return LANE_TONES.filter((name) => shown.has(name));
}

function swatches(colours, name = "") {
  const element = mark("swatch");
  for (const colour of colours) {
    const field = document.createElement("i");
    field.className = name;
    if (colour) field.style.background = colour;
    element.append(field);
  }
  return element;
}
