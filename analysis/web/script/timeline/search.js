// Finds passes by a typed query such as "F 12", "mb 12", "stage 3 mb 12" or "B12 d2".

import { KINDS, NONE } from "../rows.js";

const SEARCH_COLUMNS = {
  mb: "microbatch", microbatch: "microbatch", m: "microbatch",
  stage: "stage", s: "stage",
  chunk: "chunk", c: "chunk",
  iteration: "iteration", iter: "iteration", it: "iteration",
  device: "device", dev: "device", d: "device", gpu: "device",
};
const MAX_SORTED = 50000;

// Parses a query into conditions on passes, or into an error with examples of valid queries.
function parseSearch(text, kinds) {
  const query = { kind: null, critical: false };
  const errorFor = (problem) =>
    ({ error: `${problem}; try: F 12, mb 12, stage 3, d2, critical, or several of these` });
  const parts = text.toLowerCase().match(/[a-z_]+|\d+|[^\sa-z_\d,:=#.]+/g) ?? [];
  if (parts.length === 0) return { query: null };
  for (let k = 0; k < parts.length; ++k) {
    const word = parts[k];
    const number = /^\d+$/.test(parts[k + 1] ?? "") ? Number(parts[k + 1]) : null;
    const kind = kindNamed(word, kinds);
    let column = SEARCH_COLUMNS[word];
    let value = number;
    if (Object.hasOwn(SEARCH_COLUMNS, word)) {
      if (number === null) return errorFor(`"${word}" needs a number`);
      ++k;
    } else if (kind !== NONE) {
      if (query.kind !== null)
        return errorFor(`two kinds: "${kinds[query.kind].letter}" and "${word}"`);
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
      return errorFor(`"${word}" is neither a kind of pass nor a property`);
    }
    if (query[column] !== undefined && query[column] !== value)
      return errorFor(`two values of ${column}: ${query[column]} and ${value}`);
    query[column] = value;
  }
  return { query };
}

function kindNamed(word, kinds) {
  const letter = KINDS.indexOf(word);
  if (letter >= 0) return letter;
  return word.length > 2 ? kinds.findIndex(({ words }) => words.startsWith(word)) : NONE;
}

// The passes of a run that match a query, in order of time unless there are very many.
function findPasses(run, query) {
  const { rows, lanes } = run;
  const columns = ["microbatch", "stage", "chunk", "iteration"]
    .filter((name) => query[name] !== undefined)
    .map((name) => [rows[name], query[name]]);
  const low = query.device === undefined ? 0 : Math.min(query.device, rows.devices);
  const high = query.device === undefined ? rows.devices : Math.min(low + 1, rows.devices);
  const passes = [];
  for (let i = rows.first[low]; i < rows.first[high]; ++i) {
    if (query.kind !== null && rows.kind[i] !== query.kind) continue;
    if (query.critical && lanes.critical.passes[i] === 0) continue;
    if (columns.every(([column, value]) => column[i] === value)) passes.push(i);
  }
  return passes.length > MAX_SORTED ? passes
                                    : passes.sort((a, b) => rows.start[a] - rows.start[b] || a - b);
}

// Matches of a search in all runs, and the current match.
export class Search {
  constructor(runs, kinds) {
    Object.assign(this, { runs, kinds, error: "", matches: [], count: 0, current: NONE });
  }

  find(text) {
    const { query, error = "" } = parseSearch(text, this.kinds);
    this.active = Boolean(query);
    this.error = error;
    this.matches = this.runs.map((run) => (query ? findPasses(run, query) : []));
    this.count = this.matches.reduce((sum, passes) => sum + passes.length, 0);
    this.current = NONE;
  }

  // Returns one byte per pass of a run, 1 for those that match the query, to outline them; null if
  // there is no query.
  marks(index) {
    if (!this.active) return null;
    const marks = new Uint8Array(this.runs[index].rows.count);
    for (const pass of this.matches[index]) marks[pass] = 1;
    return marks;
  }

  // Goes `by` matches forward (negative: backward) and returns the match reached, {run, pass}.
  step(by) {
    if (this.count === 0) return null;
    this.current = this.current === NONE ? (by > 0 ? 0 : this.count - 1)
                                         : (this.current + by + this.count) % this.count;
    let offset = this.current;
    let run = 0;
    for (; offset >= this.matches[run].length; ++run) offset -= this.matches[run].length;
    return { run, pass: this.matches[run][offset] };
  }

  get words() {
    if (this.error) return this.error;
    if (!this.active) return "";
    if (this.count === 0) return "no matches";
    return this.current === NONE ? `${this.count} matches` : `${this.current + 1} of ${this.count}`;
  }
}
