// Input for adding any scenario key by name, with completion and help on the key.

import { mark, textElement } from "../script/elements.js";

export class AddKey {
  constructor(form) {
    this.form = form;
    this.element = mark("add-key", "div");
    const label = textElement("label", "add a key");
    this.name = this.field("any-key", "key, such as variation.jitter");
    this.value = this.field("any-value", "value");
    label.htmlFor = this.name.id;
    this.value.setAttribute("aria-label", "value of the key");
    const add = textElement("button", "add");
    add.type = "button";
    add.onclick = () => this.add();
    this.help = textElement("p", "", "note");
    this.help.id = "any-key-help";
    this.help.setAttribute("aria-live", "polite");
    this.name.setAttribute("aria-describedby", this.help.id);
    const list = document.createElement("datalist");
    list.id = "all-keys";
    list.append(...form.info.keys.filter(({ type }) => type !== "map").map(({ name, help }) => {
      const option = new Option(name, name);
      option.label = help;
      return option;
    }));
    this.name.setAttribute("list", list.id);
    this.name.oninput = () => this.explain();
    for (const input of [this.name, this.value])
      input.onkeydown = (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        if (input === this.name && this.value.value === "") this.value.focus();
        else this.add();
      };
    this.element.append(label, this.name, this.value, add, list, this.help);
  }

  field(id, placeholder) {
    const input = document.createElement("input");
    Object.assign(input, { id, placeholder, type: "text", spellcheck: false });
    return input;
  }

  key() {
    return this.form.keys.get(this.name.value.trim());
  }

  explain() {
    const key = this.key();
    if (!key) {
      this.help.textContent = "";
      return;
    }
    const kind = key.unit || { count: "a whole number", number: "a number", time: "a time, such as 18 ms",
                               size: "a size, such as 24 MiB", rate: "a rate, such as 450 GB/s",
                               path: "a file of the project" }[key.type] || "";
    const list = key.list_choices?.length > 0 ? `, or a list of ${key.list_choices.join(", ")}` : "";
    const choices = key.choices.length > 0 ? `one of ${key.choices.join(", ")}${list}` : kind;
    const fallback = key.default ? `default ${key.default}` : "";
    this.help.textContent = [key.help, choices, fallback].filter(Boolean).join("; ");
    if (this.value.value === "") this.value.placeholder = key.default || "value";
  }

  add() {
    const name = this.name.value.trim();
    const value = this.value.value.trim();
    if (name === "" || value === "") {
      (name === "" ? this.name : this.value).focus();
      return;
    }
    this.form.requestChange(name, value);
    this.name.value = "";
    this.value.value = "";
    this.explain();
    this.name.focus();
  }
}
