// Table of how much time single changes to the run would save. They are simulated on request; each
// row appears when its simulation ends.

import { mark, nameElement, textElement, warning } from "../script/elements.js";
import { sortableTable } from "../script/tables.js";
import { formatPercent, formatSeconds } from "../script/units.js";
import { ask, stopAsking } from "./ask.js";

export class WhatIfs {
  constructor(place) {
    this.place = place;
    this.result = null;
    this.start = textElement("button", "simulate what-ifs");
    this.start.onclick = () => (this.running ? this.stop() : this.simulate());
    this.words = textElement("span", "", "note");
    this.words.setAttribute("aria-live", "polite");
    this.table = mark("", "div");
    const line = mark("controls", "div");
    line.append(this.start, this.words);
    place.append(line, this.table);
    this.showState("Runs the scenario again with one change at a time: precision, links, GPUs, stages.");
  }

  showState(words) {
    this.words.textContent = words;
  }

  // Sets the run to change. Rows of the previous run stay, marked as out of date.
  setRun(result) {
    this.stop();
    this.result = result;
    this.table.classList.toggle("stale", this.table.childElementCount > 0);
    if (this.table.childElementCount > 0) this.showState("These rows belong to the previous run.");
  }

  stop() {
    stopAsking("what-if");
    this.running = false;
    this.start.textContent = "simulate what-ifs";
  }

  async simulate() {
    if (!this.result) return;
    const rows = [];
    let rerun = null;
    this.running = true;
    this.start.textContent = "stop";
    this.table.replaceChildren();
    this.table.classList.remove("stale");
    this.showState("starting");
    await ask("what-if", { id: this.result.id }, (line) => {
      if (line.failure) this.showState(line.failure);
      if (line.of) this.showState(`${line.done} of ${line.of} simulations`);
      if (line.row) {
        rows.push(line.row);
        rerun = line.rerun_s;
        this.fill(rows, rerun);
      }
      if (line.what_if) {
        const { rows: finalRows, rerun_s: time, notes } = line.what_if;
        this.fill(finalRows, time, notes);
        this.showState(`${finalRows.length} changes to a run of ${formatSeconds(time)}`);
      }
    });
    this.running = false;
    this.start.textContent = "simulate what-ifs";
  }

  fill(rows, rerun, notes = []) {
    const gain = (row) => (row.makespan_s === undefined ? null : rerun - row.makespan_s);
    const order = [...rows].sort((a, b) => (gain(b) ?? -Infinity) - (gain(a) ?? -Infinity));
    const none = "\u2013";
    const number = (head, of, text) => ({
      head, value: of, cell: (row) => (of(row) === null ? none : text(of(row), row)),
    });
    this.table.replaceChildren(
      sortableTable([
        { head: "change", value: (row) => row.change, cell: (row) => nameElement("span", row.change) },
        number("time", (row) => row.makespan_s ?? null, formatSeconds),
        number("gain", gain, (seconds) => formatSeconds(seconds)),
        number("gain / time", (row) => (gain(row) === null ? null : gain(row) / rerun), formatPercent),
        { head: "--set", value: (row) => row.set_words, cell: (row) => nameElement("span", row.set_words) },
        { head: "remark", value: (row) => row.why_not ?? "", cell: (row) => remarkOf(row) },
      ], order, 60),
      ...notes.map((note) => textElement("p", note, "note")));
  }
}

function remarkOf(row) {
  if (row.does_not_fit !== undefined) return warning(`does not fit on device ${row.does_not_fit}`);
  const words = nameElement("span", row.why_not ?? "");
  words.classList.add("note");
  return words;
}
