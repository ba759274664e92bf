// Dialog for downloading or copying the scenario, the page, the trace, or launch flags for a
// framework.

import { mark, textElement } from "../script/elements.js";
import { ask } from "./ask.js";

export class TakeAway {
  // `present()`: returns {text, result} of the current run.
  constructor(info, present) {
    this.present = present;
    this.dialog = document.createElement("dialog");
    this.dialog.id = "take-away";
    this.dialog.setAttribute("aria-label", "take away");
    this.choice = document.createElement("select");
    this.choice.id = "what-to-take";
    const groups = [["files", [["scenario", "scenario.yaml"], ["page", "page.html"],
                               ["trace", "trace.h5"]]],
                    ["launch flags", info.frameworks.map((name) => [name, name])]];
    for (const [title, options] of groups) {
      const group = document.createElement("optgroup");
      group.label = title;
      group.append(...options.map(([value, words]) => new Option(words, value)));
      this.choice.append(group);
    }
    this.choice.onchange = () => this.show();
    const label = textElement("label", "file or framework ");
    label.append(this.choice);
    this.area = document.createElement("textarea");
    Object.assign(this.area, { readOnly: true, rows: 18, wrap: "off" });
    this.area.setAttribute("aria-label", "content");
    this.words = textElement("p", "", "note");
    this.words.setAttribute("role", "status");
    this.copy = textElement("button", "copy");
    this.copy.onclick = () => this.toClipboard();
    this.links = mark("buttons");
    const close = textElement("button", "close");
    close.onclick = () => this.dialog.close();
    const line = mark("controls", "div");
    line.append(this.copy, this.links, close);
    this.dialog.append(textElement("h2", "Take away"), label, this.area, this.words, line);
    this.dialog.onclick = (event) => { if (event.target === this.dialog) this.dialog.close(); };
    document.body.append(this.dialog);
  }

  open() {
    if (this.dialog.open) return this.dialog.close();
    this.dialog.showModal();
    this.show();
  }

  link(name, href) {
    const link = textElement("a", `download ${name}`, "button");
    link.href = href;
    link.download = name;
    return link;
  }

  textLink(name, text) {
    return this.link(name, URL.createObjectURL(new Blob([text], { type: "text/plain" })));
  }

  fill(text, links, words = "") {
    for (const link of this.links.querySelectorAll("a")) URL.revokeObjectURL(link.href);
    this.area.value = text;
    this.area.hidden = text === "";
    this.copy.hidden = text === "";
    this.links.replaceChildren(...links);
    this.words.textContent = words;
  }

  show() {
    const { text, result } = this.present();
    const kind = this.choice.value;
    const id = result?.id;
    if (kind === "scenario") return this.fill(text, [this.textLink("scenario.yaml", text)]);
    if (kind === "page" || kind === "trace") {
      if (!id) return this.fill("", [], "No run yet.");
      const page = kind === "page";
      const href = page ? `/results/${id}.html?download=1` : `/results/${id}-0.h5?download=1`;
      return this.fill("", [this.link(page ? "page.html" : "trace.h5", href)], page
        ? "One file that needs nothing else: figures, timeline, memory, links."
        : "For pipewright show, why, compare and export, and as HDF5 for other programs.");
    }
    this.fill("", [], "loading");
    return ask("launch", { text, framework: kind }, (line) => {
      if (line.failure) this.fill("", [], line.failure);
      if (!line.launch || this.choice.value !== kind) return;
      const { name, text: flags, beside_name: besideName, beside, differs } = line.launch;
      const links = [this.textLink(name, flags)];
      if (beside) links.push(this.textLink(besideName, beside));
      this.fill(flags, links, differs.length > 0
        ? `${differs.length} settings have no equivalent; the comments name them.` : "");
    });
  }

  async toClipboard() {
    this.area.select();
    try {
      await navigator.clipboard.writeText(this.area.value);
      this.words.textContent = "copied";
    } catch {
      this.words.textContent = document.execCommand("copy") ? "copied" : "press Ctrl+C to copy";
    }
  }
}
