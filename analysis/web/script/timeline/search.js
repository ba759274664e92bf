// Finds passes by what a reader types: "F 12", "mb 12", "stage 3 mb 12", "B12 d2".

const SEARCH_COLUMNS = {
  mb: "microbatch", microbatch: "microbatch", m: "microbatch",
  stage: "stage", s: "stage",
  chunk: "chunk", c: "chunk",
  iteration: "iteration", iter: "iteration", it: "iteration",
  device: "device", dev: "device", d: "device", gpu: "device",
};
const SEARCH_KINDS = ["f", "i", "w", "b", "r"];
const MOST_SORTED = 50000;

// Conditions on passes, or an error that says what is wrong and what would be right.
function parseSearch(text, kinds) {
  const query = { kind: null, critical: false };
  const wrong = (what) =>
    ({ error: `${what}; try: F 12, mb 12, stage 3, d2, critical, or several of them` });
  const parts = text.toLowerCase().match(/[a-z_]+|\d+|[^\sa-z_\d,:=#.]+/g) ?? [];
  if (parts.length === 0) return { query: null };
  for (let k = 0; k < parts.length; ++k) {
    const word = parts[k];
    const number = /^\d+$/.test(parts[k + 1] ?? "") ? Number(parts[k + 1]) : null;
    const kind = kindNamed(word, kinds);
    let column = SEARCH_COLUMNS[word];
    let value = number;
    if (Object.hasOwn(SEARCH_COLUMNS, word)) {
      if (number === null) return wrong(`"${word}" needs a number`);
      ++k;
    } else if (kind !== NONE) {
      if (query.kind !== null)
        return wrong(`two kinds: "${kinds[query.kind].letter}" and "${word}"`);
      query.kind = kind;
      if (number === null) continue;
      column = "microbatch";
      ++k;
    } else if (/^\d+$/.test(word)) {
      column = "microbatch";
      value = Number(word);
    } else if (word === "critical" || word === "path") {
      query.critical = true;
      continue;
    } else {
      return wrong(`"${word}" is no kind of pass and no property`);
    }
    if (query[column] !== undefined && query[column] !== value)
      return wrong(`two values of ${column}: ${query[column]} and ${value}`);
    query[column] = value;
  }
  return { query };
}

function kindNamed(word, kinds) {
  const letter = SEARCH_KINDS.indexOf(word);
  if (letter >= 0) return letter;
  return word.length > 2 ? kinds.findIndex(({ words }) => words.startsWith(word)) : NONE;
}

// The passes of a run that meet all conditions, in order of time as long as they are not too many.
function findPasses(run, query) {
  const { rows, lanes } = run;
  const columns = ["microbatch", "stage", "chunk", "iteration"]
    .filter((name) => query[name] !== undefined)
    .map((name) => [rows[name], query[name]]);
  const low = query.device === undefined ? 0 : Math.min(query.device, rows.devices);
  const high = query.device === undefined ? rows.devices : Math.min(low + 1, rows.devices);
  const found = [];
  for (let i = rows.first[low]; i < rows.first[high]; ++i) {
    if (query.kind !== null && rows.kind[i] !== query.kind) continue;
    if (query.critical && lanes.critical.passes[i] === 0) continue;
    if (columns.every(([column, value]) => column[i] === value)) found.push(i);
  }
  return found.length > MOST_SORTED ? found
                                    : found.sort((a, b) => rows.start[a] - rows.start[b] || a - b);
}

// What was found in all runs, and which of it the reader is at.
class Search {
  constructor(runs, kinds) {
    Object.assign(this, { runs, kinds, error: "", matches: [], count: 0, current: NONE });
  }

  find(text) {
    const { query, error = "" } = parseSearch(text, this.kinds);
    this.active = Boolean(query);
    this.error = error;
    this.matches = this.runs.map((run) => (query ? findPasses(run, query) : []));
    this.count = this.matches.reduce((sum, found) => sum + found.length, 0);
    this.current = NONE;
  }

  // Of each run which passes were found, for its overlay; null where nothing is looked for.
  marks(index) {
    if (!this.active) return null;
    const marks = new Uint8Array(this.runs[index].rows.count);
    for (const pass of this.matches[index]) marks[pass] = 1;
    return marks;
  }

  // The next one, or with -1 the one before: {run, pass}.
  step(by) {
    if (this.count === 0) return null;
    this.current = this.current === NONE ? (by > 0 ? 0 : this.count - 1)
                                         : (this.current + by + this.count) % this.count;
    let left = this.current;
    let run = 0;
    for (; left >= this.matches[run].length; ++run) left -= this.matches[run].length;
    return { run, pass: this.matches[run][left] };
  }

  get words() {
    if (this.error) return this.error;
    if (!this.active) return "";
    if (this.count === 0) return "no pass is like that";
    return this.current === NONE ? `${this.count} found` : `${this.current + 1} of ${this.count}`;
  }
}
