// Compares up to six kept runs with the current one: their figures, the settings in which their
// scenarios differ, and their timelines on one axis.

import { mark, metricLink, nameElement, textElement } from "../script/elements.js";
import { RUN_METRICS, formatQuantity } from "../script/panels/metrics.js";
import { noBreak } from "../script/units.js";
import { ask } from "./ask.js";
import { changeText, fastestOf } from "./headline.js";
import { RunFrame } from "./run_frame.js";

export const MOST_VARIANTS = 6;

export class Variants {
  // `act`: {restore(variant), changed()}
  constructor(place, act) {
    this.act = act;
    this.list = [];
    this.reference = null;  // reference variant
    this.currentRun = null;      // the current run, which is not a variant
    this.table = mark("", "div");
    this.draw = textElement("button", "timelines on one axis");
    this.draw.onclick = () => this.compare();
    this.words = textElement("span", "", "note");
    const line = mark("controls", "div");
    line.append(this.draw, this.words);
    this.framePlace = mark("frames", "div");
    this.frame = new RunFrame(this.framePlace, "timelines of the variants");
    place.append(this.table, line, this.framePlace);
    this.fill();
  }

  // Returns the name of the new variant, or null if there is no room for it.
  keep(result, scenario) {
    if (!result || this.list.length >= MOST_VARIANTS) return null;
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const name = [...letters].find((letter) => this.list.every((entry) => entry.name !== letter));
    const variant = { name: name ?? "variant", ...scenario, result, run: fastestOf(result.runs) };
    this.list.push(variant);
    this.reference ??= variant;
    this.changed();
    return variant.name;
  }

  remove(variant) {
    this.list = this.list.filter((entry) => entry !== variant);
    if (this.reference === variant) this.reference = this.list[0] ?? null;
    this.changed();
  }

  changed() {
    this.fill();
    this.act.changed();
  }

  show(result, scenario) {
    this.currentRun = { name: "now", ...scenario, result, run: fastestOf(result.runs) };
    this.fill();
  }

  ids() {
    return this.list.map(({ result }) => result.id);
  }

  columns() {
    const isKept = this.list.some(({ result }) => result.id === this.currentRun?.result.id);
    return this.currentRun && !isKept ? [...this.list, this.currentRun] : this.list;
  }

  fill() {
    const columns = this.columns();
    this.draw.disabled = columns.length < 2;
    if (this.list.length === 0) {
      this.table.replaceChildren(textElement("p", "Keep a run as a variant to compare " +
        "it with later runs here.", "note"));
      return;
    }
    const table = document.createElement("table");
    table.className = "differences variants";
    const head = table.createTHead().insertRow();
    head.append(document.createElement("td"), ...columns.map((column) => this.headOf(column)));
    const body = table.createTBody();
    for (const metric of RUN_METRICS) {
      const hasValue = ({ of }) => columns.some(({ run }) => typeof of(run.summary) === "number");
      if (!hasValue(metric) || (metric.instead && hasValue(metric.instead))) continue;
      const values = columns.map(({ run }) => metric.of(run.summary));
      this.row(body, metricLink(metric.anchor, metric.name),
               columns.map((column) => this.figure(metric, column, values)));
    }
    this.addSettings(body, columns);
    const wide = mark("wide", "div");
    wide.append(table);
    this.table.replaceChildren(wide);
  }

  row(body, name, cells) {
    const line = body.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.append(name);
    line.append(head, ...cells);
  }

  headOf(variant) {
    const head = document.createElement("th");
    head.scope = "col";
    if (variant === this.currentRun) {
      head.append(textElement("b", "now"));
      return head;
    }
    const name = document.createElement("input");
    Object.assign(name, { type: "text", value: variant.name, maxLength: 24, size: 8 });
    name.setAttribute("aria-label", `name of variant ${variant.name}`);
    name.onchange = () => {
      variant.name = name.value.trim() || variant.name;
      this.changed();
    };
    const button = (words, label, run, pressed) => {
      const control = textElement("button", words);
      control.setAttribute("aria-label", label);
      control.title = label;
      control.onclick = run;
      if (pressed !== undefined) control.setAttribute("aria-pressed", String(pressed));
      return control;
    };
    const buttons = mark("buttons");
    buttons.append(
      button("\u2194", `compare with ${variant.name}`, () => {
        this.reference = variant;
        this.changed();
      }, variant === this.reference),
      button("\u21a9", `put ${variant.name} back into the form`, () => this.act.restore(variant)),
      button("\u00d7", `remove ${variant.name}`, () => this.remove(variant)));
    head.append(name, buttons);
    return head;
  }

  figure(metric, column, values) {
    const { of, unit, better } = metric;
    const value = of(column.run.summary);
    const cell = document.createElement("td");
    const numbers = values.filter((number) => typeof number === "number");
    const largest = Math.max(...numbers.map(Math.abs));
    const text = textElement("span", noBreak(formatQuantity(value, unit, largest)));
    const best = better < 0 ? Math.min(...numbers) : Math.max(...numbers);
    if (value === best && numbers.some((number) => number !== best)) {
      text.className = "best";
      text.append(textElement("i", " \u2605"));
    }
    cell.append(text);
    const first = of(this.reference.run.summary);
    if (column === this.reference) return cell;
    if (typeof value !== "number" || typeof first !== "number") return cell;
    const words = value === first ? "the same" : changeText(metric, value, first);
    const change = textElement("small", noBreak(words.match(/\((.*)\)/)?.[1] ?? words));
    change.title = words;
    if (value !== first) change.className = (value < first) === (better < 0) ? "good" : "bad";
    cell.append(change);
    return cell;
  }

  // Adds a table row for each setting in which the scenarios differ.
  addSettings(body, columns) {
    const keys = [...new Set(columns.flatMap(({ values }) => Object.keys(values)))]
      .filter((key) => key !== "schedule" && key !== "devices")
      .filter((key) => columns.some(({ values }) => values[key] !== columns[0].values[key]));
    for (const key of keys.sort())
      this.row(body, nameElement("span", key), columns.map(({ values }) => {
        const cell = document.createElement("td");
        const value = textElement("span", values[key] ?? "\u2013");
        if (values[key] !== this.reference.values[key]) value.className = "differs";
        cell.append(value);
        return cell;
      }));
  }

  async compare() {
    const variants = this.columns().map(({ name, result }) => ({ name, id: result.id }));
    this.words.textContent = "drawing";
    await ask("compare", { variants, keep: variants.map(({ id }) => id) }, (line) => {
      if (line.failure) this.words.textContent = line.failure;
      if (!line.page) return;
      this.words.textContent = "";
      this.framePlace.classList.add("used");
      this.frame.load(line.page);
    });
  }
}
