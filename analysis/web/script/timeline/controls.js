// Controls above the timelines: colour mode, lanes, search and help.

import { textElement } from "../elements.js";
import { ZOOM_STEP } from "./gestures.js";
import { PAINT_MODES } from "./paints.js";

export class Controls {
  // `act`: object of the page whose methods the controls call.
  constructor(place, settings, search, act) {
    Object.assign(this, { settings, search, act });
    place.append(this.modeControl(), this.lanesControl(), this.helpControl(), this.searchControl());
  }

  modeControl() {
    const label = textElement("label", "colours ");
    this.mode = document.createElement("select");
    this.mode.id = "mode";
    this.mode.title = "meaning of the colours of passes (c)";
    for (const [value, words] of PAINT_MODES) {
      const option = textElement("option", words);
      option.value = value;
      this.mode.append(option);
    }
    this.mode.onchange = () => this.act.paint(this.mode.value);
    label.append(this.mode);
    return label;
  }

  lanesControl() {
    this.lanes = textElement("button", "lanes");
    this.lanes.id = "lanes";
    this.lanes.onclick = () => this.act.toggleLanes();
    return this.lanes;
  }

  // `shown`: true if lanes are visible; null if they cannot be, for lack of lanes or of room.
  showLanes(shown) {
    this.lanes.disabled = shown === null;
    this.lanes.setAttribute("aria-pressed", String(shown === true));
    this.lanes.title = shown === null
      ? "no run has transfers or collectives to show, or there are too many devices"
      : "transfers and collectives below each device's passes (l)";
  }

  searchControl() {
    const form = document.createElement("form");
    form.id = "search";
    form.setAttribute("role", "search");
    this.input = document.createElement("input");
    this.input.type = "search";
    this.input.size = 18;
    this.input.placeholder = "find a pass: F 12";
    this.input.title = "such as F 12, mb 12, stage 3 mb 12, B12 d2, critical (/)";
    this.input.setAttribute("aria-label", "find passes, such as F 12, stage 3 mb 12, B12 d2");
    this.result = document.createElement("output");
    this.result.setAttribute("aria-live", "polite");
    const step = (text, name, by) => {
      const button = textElement("button", text);
      button.type = "button";
      button.title = name;
      button.setAttribute("aria-label", name);
      button.onclick = () => this.step(by);
      return button;
    };
    this.input.oninput = () => this.find();
    this.input.onkeydown = (event) => {
      if (event.key === "Enter") return this.step(event.shiftKey ? -1 : 1);
      if (event.key !== "Escape") return;
      this.clear();
      this.input.blur();
    };
    form.onsubmit = (event) => event.preventDefault();
    form.append(this.input, step("\u2039", "previous match (shift Enter)", -1),
                step("\u203a", "next match (Enter)", 1), this.result);
    return form;
  }

  find() {
    this.search.find(this.input.value);
    this.act.showMatches();
    this.showResult();
  }

  step(by) {
    const match = this.search.step(by);
    if (match) this.act.jump(match);
    this.showResult();
  }

  clear() {
    if (this.input.value === "") return;
    this.input.value = "";
    this.find();
  }

  showResult() {
    this.result.textContent = this.search.words;
    this.result.className = this.search.error ? "warning" : "";
    this.input.setAttribute("aria-invalid", String(this.search.error !== ""));
  }

  helpControl() {
    const button = textElement("button", "?");
    button.id = "help";
    button.title = "mouse and keys (?)";
    button.setAttribute("aria-label", "help: mouse and keys");
    button.onclick = () => this.act.help();
    return button;
  }
}

// Help on mouse and keys. The keys come from the list of actions that handles them.
export function helpDialog(actions) {
  const dialog = document.createElement("dialog");
  dialog.id = "keys";
  dialog.setAttribute("aria-label", "mouse and keys");
  const list = document.createElement("dl");
  const line = (names, words) => {
    const keys = document.createElement("dt");
    for (const name of names) keys.append(textElement("kbd", name), " ");
    list.append(keys, textElement("dd", words));
  };
  line(["wheel"], "zooms at the pointer; over the labels it scrolls");
  line(["drag"], "pans");
  line(["shift drag"], "zooms to a range");
  line(["click"], "selects a pass or transfer and shows its arrows; elsewhere clears the selection");
  line(["double click"], "the whole time axis");
  for (const { names, words } of actions) if (words) line(names, words);
  line(["Enter"], "in the search box: next match, with shift previous match");
  const close = textElement("button", "close");
  close.onclick = () => dialog.close();
  dialog.append(textElement("h2", "Mouse and keys"), list, close);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  return dialog;
}

// Actions of the keyboard. `keys`: names in keyboard events; `names`: names in the help; `run`:
// function that returns false if the browser should handle the key.
export function keyActions(page) {
  const { view, selection, controls } = page;
  const step = () => (view.to - view.from) * 0.15;
  const action = (keys, names, words, run) => ({ keys, names, words, run });
  const onTimeline = (event) => event.target.closest(".timeline") !== null;
  return [
    action(["+", "=", "w", "W"], ["+", "w"], "zoom in", () => view.zoom(1 / ZOOM_STEP)),
    action(["-", "s", "S"], ["\u2212", "s"], "zoom out", () => view.zoom(ZOOM_STEP)),
    action(["ArrowLeft", "a", "A"], ["\u2190", "a"], "pan left", () => view.pan(-step())),
    action(["ArrowRight", "d", "D"], ["\u2192", "d"], "pan right", () => view.pan(step())),
    action(["f", "0"], ["f", "0"], "the whole time axis", () => view.fit()),
    action(["/"], ["/"], "find a pass", () => controls.input.focus()),
    action(["c"], ["c"], "next colour mode", () => page.nextPaint()),
    action(["l"], ["l"], "lanes of transfers and collectives", () => page.toggleLanes()),
    action([","], [","], "previous pass on the device", () => selection.along(-1)),
    action(["."], ["."], "next pass, or the first visible pass", () => selection.along(1)),
    action(["["], ["["], "pass that sent the input", () => selection.alongTransfers(-1)),
    action(["]"], ["]"], "pass that receives the result", () => selection.alongTransfers(1)),
    action(["ArrowUp"], ["\u2191"], "pass on the device above, in a timeline",
           (event) => onTimeline(event) && selection.across(-1)),
    action(["ArrowDown"], ["\u2193"], "pass on the device below, in a timeline",
           (event) => onTimeline(event) && selection.across(1)),
    action(["m"], ["m"], "zoom to the selected pass", () => selection.zoomToPass()),
    action(["Enter"], [], "", (event) => onTimeline(event) && selection.enter()),
    action(["Escape"], ["Esc"], "clear selection and search", () => {
      const hadSelection = selection.clear();
      controls.clear();
      return hadSelection;
    }),
    action(["?"], ["?"], "this help", () => page.help()),
  ];
}
