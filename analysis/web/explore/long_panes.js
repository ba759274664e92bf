// The views "search" and "goodput": questions that take longer than a run. Each shows its progress,
// the report as text, and the page that `search -o` or `goodput -o` writes.

import { mark, textElement } from "../script/elements.js";
import { formatPercent, formatSeconds } from "../script/units.js";
import { ask, stopAsking } from "./ask.js";
import { RunFrame } from "./run_frame.js";

// A view with a button that starts and stops a question of this kind.
class LongPane {
  // `present()`: returns the text of the scenario.
  constructor(place, kind, words, present) {
    Object.assign(this, { kind, words, present });
    this.running = false;
    this.options = mark("options", "div");
    this.start = textElement("button", words.start);
    this.start.onclick = () => (this.running ? this.stop() : this.run());
    this.state = textElement("span", words.about, "note");
    this.state.setAttribute("role", "status");
    const line = mark("controls", "div");
    line.append(this.start, this.state);
    this.report = mark("report", "details");
    this.report.hidden = true;
    this.text = document.createElement("pre");
    this.report.append(textElement("summary", "report as text"), this.text);
    this.framePlace = mark("frames", "div");
    this.frame = new RunFrame(this.framePlace, words.page);
    place.append(this.options, line, this.report, this.framePlace);
  }

  number(id, label, value, max) {
    const field = textElement("label", `${label} `);
    const input = document.createElement("input");
    Object.assign(input, { id, type: "number", min: 1, max, value });
    field.append(input);
    this.options.append(field);
    return input;
  }

  stop() {
    stopAsking(this.kind);
    this.ended("stopped");
  }

  ended(words) {
    this.running = false;
    this.start.textContent = this.words.start;
    this.state.textContent = words;
  }

  async run() {
    this.running = true;
    this.start.textContent = "stop";
    this.state.textContent = "starting";
    const began = performance.now();
    let failed = false;
    await ask(this.kind, { text: this.present(), ...this.question() }, (line) => {
      if (line.failure) {
        failed = true;
        this.ended(line.failure);
      }
      const words = this.progressOf(line);
      if (words) this.state.textContent = words;
      const answer = line[this.kind];
      if (!answer) return;
      this.text.textContent = answer.text;
      this.report.hidden = false;
      this.framePlace.classList.add("used");
      this.frame.load(answer.page);
      this.show(answer);
    });
    if (this.running && !failed) this.ended(`after ${formatSeconds((performance.now() - began) / 1000)}`);
  }

  show() {}
}

// Keys that a search can vary: label, edits, and whether it varies them at first.
const VARIED = [
  ["tp, pp and dp", [["parallel.tp", "auto"], ["parallel.pp", "auto"], ["parallel.dp", "auto"]], true],
  ["ep", [["parallel.ep", "auto"]], false],
  ["ZeRO", [["parallel.zero", "auto"]], false],
  ["schedule", [["schedule", "auto"]], true],
  ["microbatch size", [["training.microbatch_size", "auto"]], true],
  ["recomputation", [["training.recompute", "auto"]], true],
];

export class SearchPane extends LongPane {
  // `use(text)`: puts a scenario into the form.
  constructor(place, present, use) {
    super(place, "search", {
      start: "search",
      about: "Finds the best values of these keys for the model, cluster and batch of the scenario.",
      page: "candidates of the search",
    }, present);
    this.boxes = VARIED.map(([label, edits, isChecked]) => {
      const field = textElement("label", "");
      const box = document.createElement("input");
      Object.assign(box, { type: "checkbox", checked: isChecked });
      field.append(box, ` ${label}`);
      this.options.append(field);
      return { box, edits };
    });
    this.budget = this.number("search-budget", "seconds", 60, 600);
    this.best = textElement("button", "put the best into the form");
    this.best.hidden = true;
    this.start.after(this.best);
    this.best.onclick = () => use(this.scenario);
  }

  question() {
    this.best.hidden = true;
    const edits = this.boxes.filter(({ box }) => box.checked).flatMap(({ edits }) => edits);
    return { edits, budget: Number(this.budget.value) || 60 };
  }

  progressOf({ progress }) {
    if (!progress) return "";
    const { assessed, candidates, best, outcomes } = progress;
    const bestSoFar = best ? `; the best so far takes ${formatSeconds(best.time_s)}` : "";
    return `${assessed} of ${candidates} candidates bounded, ${outcomes.simulated} simulated${bestSoFar}`;
  }

  show({ best }) {
    this.scenario = best;
    this.best.hidden = !best;
  }
}

export class GoodputPane extends LongPane {
  constructor(place, present) {
    super(place, "goodput", {
      start: "simulate weeks",
      about: "Simulates weeks of this training with failures, checkpoints and restarts.",
      page: "goodput of the training",
    }, present);
    this.seeds = this.number("goodput-seeds", "random seeds", 20, 1000);
  }

  question() {
    return { seeds: Number(this.seeds.value) || 20 };
  }

  progressOf({ done }) {
    return done === undefined ? "" : `${formatPercent(done)} of the seeds`;
  }
}
