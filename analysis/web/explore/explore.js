// Puts the page together: what is asked of the server, and where its answers go.

class Explorer {
  constructor(info) {
    this.info = info;
    this.text = remembered.text ?? given.scenario;
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
      this.variants.frame.restyle();
    });
    addEventListener("pagehide", () => {
      const stop = new Blob([JSON.stringify({ tab: TAB })], { type: "application/json" });
      navigator.sendBeacon("/api/stop", stop);
    });
  }

  say(words) {
    element("state").textContent = words;
  }

  help() {
    if (this.dialog.open) this.dialog.close();
    else this.dialog.showModal();
  }

  // Runs the scenario: another text, or the present one with changes.
  run({ text = this.text, edits = [], typed = false }) {
    const began = performance.now();
    this.whatIfs.stop();
    this.say("running");
    element("results").setAttribute("aria-busy", "true");
    const keep = [...this.variants.ids(), this.result?.id].filter(Boolean);
    const answered = ask("run", { text, edits, keep }, (line) => this.hear(line, began, typed))
      .then(() => {
        if (this.answered === answered) element("results").removeAttribute("aria-busy");
      });
    this.answered = answered;
    return answered;
  }

  hear(line, began, typed) {
    const taken = () => `${((performance.now() - began) / 1000).toFixed(2)} s`;
    if (line.scenario) {
      ({ text: this.text, values: this.values } = line.scenario);
      this.form.show(this.values);
      if (!typed) this.view.show(this.text);
      this.store();
    }
    if (line.fault || line.failure) this.showFault(line.fault ?? { message: line.failure, key: "" });
    if (line.estimate) {
      this.showFigures(line.estimate);
      this.say(`estimate without contention, after ${taken()}; simulating`);
      element("headline").classList.add("estimated");
    }
    if (line.figures) {
      this.showFault(null);
      this.showFigures(line.figures.runs);
      element("headline").classList.remove("estimated");
      element("subject").textContent =
        [line.figures.subject, line.figures.details].filter(Boolean).join(", ");
      this.say(`simulated, after ${taken()}`);
      this.figuresAfter = performance.now() - began;
    }
    if (line.result) this.showResult(line.result);
  }

  showFigures(runs) {
    const against = this.variants.against;
    const notes = runs.length > 1
      ? [textElement("p", `${fastestOf(runs).name} is the fastest of ${runs.length} schedules`, "note")]
      : [];
    element("headline").replaceChildren(headlineOf(runs, against), ...notes,
      ...assumedNotes([fastestOf(runs).summary], given.assumed_words));
    element("headline").classList.remove("stale");
    this.shown = runs;
  }

  showResult(result) {
    this.result = result;
    this.ofResult = this.scenario();  // the text may be ahead of it
    this.frame.load(result.id);
    this.whatIfs.of(result);
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
      ? list : textElement("p", "Nothing to remark on this run.", "note"));
  }

  // The last good result stays, greyed.
  showFault(fault) {
    const atControl = this.form.showFault(fault);
    this.view.showFault(fault && (!atControl || fault.line > 0) ? fault : null);
    const problem = element("problem");
    problem.hidden = !fault;
    if (!fault) return;
    problem.textContent = fault.message;
    this.say("this cannot be run");
    element("headline").classList.add("stale");
    element("pane-run").classList.add("stale");
  }

  // What is asked for at present, once it is there; else the last that could be run.
  async keep() {
    for (let run = null; run !== this.answered;) await (run = this.answered);
    const name = this.variants.keep(this.result, this.ofResult);
    if (name) this.say(`kept as variant ${name}`);
    else this.say(this.result ? "six variants are kept already" : "nothing has run yet");
  }

  variantsChanged() {
    if (this.shown) this.showFigures(this.shown);
    const { length } = this.variants.list;
    element("tab-variants").textContent = length > 0 ? `variants (${length})` : "variants";
    element("keep").disabled = length >= MOST_VARIANTS;
    this.store();
  }

  store() {
    const { list, against } = this.variants;
    remember({ text: this.text, variants: list, against: list.indexOf(against) });
  }

  restore() {
    const { variants = [], against } = remembered;
    this.variants.list = variants;
    this.variants.against = variants[against] ?? null;
    if (variants.length > 0) this.variants.changed();
    this.view.show(this.text);
    return this.run({});
  }
}

async function main() {
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
