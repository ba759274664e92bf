// The form with a control for each of a scenario's keys.

import { mark, textElement } from "../script/elements.js";
import { AddKey } from "./add_key.js";
import { CONTROL_GROUPS, NAMED_KEYS, WIDE_CONTROLS, editsOf, labelOf } from "./controls_table.js";

export const TYPING_REST = 250;  // ms without a keystroke after which typed text is applied

export class Form {
  // `changed(edits)`: called with the edits that the user made.
  constructor(place, info, changed) {
    Object.assign(this, { place, info, changed });
    this.keys = new Map(info.keys.map((key) => [key.name, key]));
    for (const [name, help] of Object.entries(NAMED_KEYS))
      this.keys.set(name, { name, help, type: "number", choices: [], default: "1" });
    this.controls = new Map();
    this.values = {};
    for (const [title, names] of CONTROL_GROUPS) {
      const group = document.createElement("fieldset");
      group.append(textElement("legend", title));
      if (title === "layout") group.className = "sizes";
      for (const name of names)
        if (this.keys.has(name)) group.append(this.make(name, WIDE_CONTROLS.has(name)));
      group.append(...group.querySelectorAll(".fault"));  // below the controls
      place.append(group);
    }
    this.more = document.createElement("fieldset");
    this.more.append(textElement("legend", "more keys"));
    this.added = mark("added", "div");
    this.more.append(this.added, new AddKey(this).element);
    place.append(this.more);
    this.addLists();
    place.onsubmit = (event) => event.preventDefault();
  }

  addLists() {
    const lists = {
      model: [...this.info.models, ...this.info.model_files],
      cluster: [...this.info.clusters, ...this.info.cluster_files],
      gpu: this.info.gpus,
      stack: this.info.stacks,
      "schedule.name": this.info.schedules.map(({ name }) => name),
    };
    for (const [key, names] of Object.entries(lists)) {
      const list = document.createElement("datalist");
      list.id = `names-${key}`;
      list.append(...names.map((name) => new Option(name)));
      this.place.append(list);
      this.controls.get(key)?.input.setAttribute("list", list.id);
    }
  }

  // A label with its control and the place of its error message.
  make(name, wide = false) {
    const key = this.keys.get(name) ?? { name, help: "", type: "text", choices: [], default: "" };
    const field = mark(wide ? "field wide-field" : "field", "div");
    const label = textElement("label", labelOf(name));
    const input = this.inputOf(key);
    const fault = textElement("p", "", "fault");
    input.id = `key-${name}`;
    fault.id = `fault-${name}`;
    fault.hidden = true;
    label.htmlFor = input.id;
    label.title = `${name}: ${key.help}`;
    input.title = label.title;
    input.setAttribute("aria-describedby", fault.id);
    field.append(label, input, fault);
    this.controls.set(name, { key, field, input, fault });
    return field;
  }

  inputOf(key) {
    const ask = (value) => this.requestChange(key.name, value);
    if (key.type === "flag") {
      const box = document.createElement("input");
      box.type = "checkbox";
      box.onchange = () => ask(String(box.checked));
      return box;
    }
    if (key.choices.length > 0 && !(key.name === "partition")) {
      const select = document.createElement("select");
      select.append(new Option(key.default ? `(${key.default})` : "(default)", ""),
                    ...key.choices.map((choice) => new Option(choice)));
      select.onchange = () => ask(select.value);
      return select;
    }
    return this.textInput(key, ask);
  }

  textInput(key, ask) {
    const input = document.createElement("input");
    input.type = "text";
    input.spellcheck = false;
    input.placeholder = key.default ?? "";
    const apply = () => {
      clearTimeout(input.timer);
      if (input.value.trim() !== (this.values[key.name] ?? "")) ask(input.value.trim());
    };
    input.oninput = () => {
      clearTimeout(input.timer);
      input.timer = setTimeout(apply, TYPING_REST);
    };
    input.onchange = apply;
    if (key.type === "count") {
      input.inputMode = "numeric";
      input.onkeydown = (event) => {
        const by = { ArrowUp: 2, ArrowDown: 0.5 }[event.key];
        const value = Number(input.value || key.default || 1);
        if (!by || !Number.isInteger(value)) return;
        event.preventDefault();
        input.value = String(Math.max(1, Math.floor(value * by)));
        input.oninput();
      };
    }
    return input;
  }

  requestChange(name, value) {
    this.changed(editsOf(name, value, this.values, this.info), name);
  }

  // Shows a scenario's values in the controls. A control that the user is editing keeps its text.
  show(values) {
    this.values = values;
    this.showAdded(values);
    for (const [name, { key, input }] of this.controls) {
      const value = values[name] ?? "";
      if (input.type === "checkbox")
        input.checked = (value || key.default) === "true";
      else if (input.tagName === "SELECT")
        this.showChoice(input, name, value, values);
      else if (input !== document.activeElement || input.value.trim() === value)
        input.value = value;
    }
    this.showTaken(values["schedule.name"] || "1f1b");
  }

  // Selects a value in a drop-down list. A map, a list or a value that is no choice gets an extra
  // entry.
  showChoice(select, name, value, values) {
    select.querySelector(".other")?.remove();
    const inner = Object.keys(values).some((key) => key.startsWith(`${name}.`));
    const isOption = [...select.options].some((option) => option.value === value);
    if (inner || !isOption) {
      const extra = new Option(inner ? "as in the text" : value, inner ? "\u2026" : value);
      extra.className = "other";
      extra.disabled = inner;
      select.append(extra);
      select.value = extra.value;
    } else {
      select.value = value;
    }
  }

  showTaken(schedule) {
    const takes = this.info.schedules.find(({ name }) => name === schedule)?.takes;
    const { input } = this.controls.get("schedule.chunks");
    input.disabled = takes !== undefined && !takes.includes("chunks");
  }

  // Shows keys without a control of their own, each with a button that removes it.
  showAdded(values) {
    const placed = new Set(CONTROL_GROUPS.flatMap(([, names]) => names));
    const skip = /^(devices|num_stages|num_batches|parallel\.pipeline|schedule|output|trace)$/;
    const addedNames = Object.keys(values).filter((name) => !placed.has(name) && !skip.test(name));
    for (const [name, { field }] of this.controls)
      if (!placed.has(name) && !addedNames.includes(name)) {
        this.controls.delete(name);
        field.remove();
      }
    for (const name of addedNames) {
      if (this.controls.has(name)) continue;
      const field = this.make(name);
      field.classList.add("wide-field");
      field.querySelector("label").textContent = name;
      const removeButton = textElement("button", "\u00d7");
      removeButton.type = "button";
      removeButton.setAttribute("aria-label", `take ${name} away`);
      removeButton.onclick = () => this.changed([[name, ""]], name);
      field.querySelector("label").after(removeButton);
      this.added.append(field);
    }
  }

  // Shows an error at the control of its key; returns false if there is no such control.
  showFault(fault) {
    for (const { input, fault: place } of this.controls.values()) {
      place.hidden = true;
      input.removeAttribute("aria-invalid");
    }
    const control = fault && this.controlOf(fault.key);
    if (!control) return false;
    control.input.setAttribute("aria-invalid", "true");
    control.fault.textContent = fault.message;
    control.fault.hidden = false;
    return true;
  }

  controlOf(key) {
    for (let name = key; name; name = name.slice(0, Math.max(0, name.lastIndexOf("."))))
      if (this.controls.has(name)) return this.controls.get(name);
    return null;
  }
}
