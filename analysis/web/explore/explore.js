// Builds the page, sends requests to the server and passes its answers to the parts of the page.

import { expectedErrorNotes, textElement } from "../script/elements.js";
import { page } from "../script/page_data.js";
import { listenToTheme } from "../script/theme.js";
import { TAB, ask, element, remember, remembered } from "./ask.js";
import { exploreHelp, exploreKeys, listenToExploreKeys, listenToTabs } from "./explore_keys.js";
import { Form } from "./form.js";
import { fastestOf, headlineOf } from "./headline.js";
import { GoodputPane, SearchPane } from "./long_panes.js";
import { RunFrame } from "./run_frame.js";
import { ScenarioView } from "./scenario_view.js";
import { TakeAway } from "./take_away.js";
import { MOST_VARIANTS, Variants } from "./variants.js";
import { WhatIfs } from "./what_ifs.js";

class Explorer {
  constructor(info) {
    this.info = info;
    this.text = remembered.text ?? page.scenario;
    this.values = {};
    this.result = null;
    this.form = new Form(element("controls"), info, (edits) => this.run({ edits }));
    this.view = new ScenarioView((text) => this.run({ text, typed: true }));
    this.frame = new RunFrame(element("pane-run"), "page of the run");
    this.whatIfs = new WhatIfs(element("pane-what-if"));
    this.variants = new Variants(element("pane-variants"), {
      restore: (variant) => this.run({ text: variant.text }),
      changed: () => this.variantsChanged(),
    });
    this.search = new SearchPane(element("pane-search"), () => this.text, (text) => this.run({ text }));
    this.goodput = new GoodputPane(element("pane-goodput"), () => this.text);
    this.takeAway = new TakeAway(info, () => ({ text: this.text, result: this.result }));
    this.answered = Promise.resolve();
    const actions = exploreKeys(this);
    this.dialog = exploreHelp(actions);
    listenToExploreKeys(actions);
    listenToTabs();
    element("keep").onclick = () => this.keep();
    element("take").onclick = () => this.takeAway.open();
    element("help").onclick = () => this.help();
    listenToTheme(element("theme"), () => {
      this.frame.restyle();
      for (const { frame } of [this.variants, this.search, this.goodput]) frame.restyle();
    });
    addEventListener("pagehide", () => {
      const stop = new Blob([JSON.stringify({ tab: TAB })], { type: "application/json" });
      navigator.sendBeacon("/api/stop", stop);
    });
  }

  showState(words) {
    element("state").textContent = words;
  }

  help() {
    if (this.dialog.open) this.dialog.close();
    else this.dialog.showModal();
  }

  // Sends a scenario to the server and shows its run: either a new text, or the current text with
  // edits.
  run({ text = this.text, edits = [], typed = false }) {
    const began = performance.now();
    this.whatIfs.stop();
    this.showState("running");
    element("results").setAttribute("aria-busy", "true");
    const keep = [...this.variants.ids(), this.result?.id].filter(Boolean);
    const answered = ask("run", { text, edits, keep }, (line) => this.handleLine(line, began, typed))
      .then(() => {
        if (this.answered === answered) element("results").removeAttribute("aria-busy");
      });
    this.answered = answered;
    return answered;
  }

  handleLine(line, began, typed) {
    const elapsed = () => `${((performance.now() - began) / 1000).toFixed(2)} s`;
    if (line.scenario) {
      ({ text: this.text, values: this.values } = line.scenario);
      this.form.show(this.values);
      if (!typed) this.view.show(this.text);
      this.store();
    }
    if (line.fault || line.failure) this.showFault(line.fault ?? { message: line.failure, key: "" });
    if (line.estimate) {
      this.showFigures(line.estimate);
      this.showState(`estimate without contention, after ${elapsed()}; simulating`);
      element("headline").classList.add("estimated");
    }
    if (line.figures) {
      this.showFault(null);
      this.showFigures(line.figures.runs);
      element("headline").classList.remove("estimated");
      element("subject").textContent =
        [line.figures.subject, line.figures.details].filter(Boolean).join(", ");
      this.showState(`simulated, after ${elapsed()}`);
      this.figuresAfter = performance.now() - began;
    }
    if (line.result) this.showResult(line.result);
  }

  showFigures(runs) {
    const reference = this.variants.reference;
    const notes = runs.length > 1
      ? [textElement("p", `${fastestOf(runs).name} is the fastest of ${runs.length} schedules`, "note")]
      : [];
    element("headline").replaceChildren(headlineOf(runs, reference), ...notes,
      ...expectedErrorNotes([fastestOf(runs).summary]));
    element("headline").classList.remove("stale");
    this.shown = runs;
  }

  showResult(result) {
    this.result = result;
    this.ofResult = this.scenario();  // the text may be newer than the result
    this.frame.load(result.id);
    this.whatIfs.setRun(result);
    this.variants.show(result, this.scenario());
    this.showNotes(result.notes);
  }

  scenario() {
    return { text: this.text, values: this.values };
  }

  showNotes(notes) {
    element("tab-notes").textContent = notes.length > 0 ? `notes (${notes.length})` : "notes";
    const list = document.createElement("ul");
    list.append(...notes.map((note) => textElement("li", note)));
    element("pane-notes").replaceChildren(notes.length > 0
      ? list : textElement("p", "No notes on this run.", "note"));
  }

  // Shows an error; the last valid result stays on the page, greyed out.
  showFault(fault) {
    const atControl = this.form.showFault(fault);
    this.view.showFault(fault && (!atControl || fault.line > 0) ? fault : null);
    const problem = element("problem");
    problem.hidden = !fault;
    if (!fault) return;
    problem.textContent = fault.message;
    this.showState("invalid scenario");
    element("headline").classList.add("stale");
    element("pane-run").classList.add("stale");
  }

  // Adds a run to the kept variants: that of the current request once it has arrived, or else the
  // last valid one.
  async keep() {
    for (let run = null; run !== this.answered;) await (run = this.answered);
    const name = this.variants.keep(this.result, this.ofResult);
    if (name) this.showState(`kept as variant ${name}`);
    else this.showState(this.result ? "six variants are kept already" : "nothing has run yet");
  }

  variantsChanged() {
    if (this.shown) this.showFigures(this.shown);
    const { length } = this.variants.list;
    element("tab-variants").textContent = length > 0 ? `variants (${length})` : "variants";
    element("keep").disabled = length >= MOST_VARIANTS;
    this.store();
  }

  store() {
    const { list, reference } = this.variants;
    remember({ text: this.text, variants: list, reference: list.indexOf(reference) });
  }

  restore() {
    const { variants = [], reference } = remembered;
    this.variants.list = variants;
    this.variants.reference = variants[reference] ?? null;
    if (variants.length > 0) this.variants.changed();
    this.view.show(this.text);
    return this.run({});
  }
}

async function main() {
  // The token in the address is no longer needed, so it need not stay in the history.
  if (location.search) history.replaceState(null, "", "/");
  const answer = await fetch("/api/form");
  if (!answer.ok) throw new Error(await answer.text());
  const explorer = new Explorer(await answer.json());
  window.pipewright = { explorer };
  await explorer.restore();
}

main().catch((error) => {
  element("problem").textContent = `This page cannot be shown: ${error.message}`;
  element("problem").hidden = false;
  throw error;
});
