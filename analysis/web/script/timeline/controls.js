// Above the timelines: what colours stand for, lanes, search, help.

class Controls {
  // `act`: what the controls do, as Page has it.
  constructor(place, settings, search, act) {
    Object.assign(this, { settings, search, act });
    place.append(this.modeControl(), this.lanesControl(), this.helpControl(), this.searchControl());
  }

  modeControl() {
    const label = textElement("label", "colours ");
    this.mode = document.createElement("select");
    this.mode.id = "mode";
    this.mode.title = "what the colours of passes stand for (c)";
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

  // `shown`: whether lanes are; null where no run has any or there is no room.
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
    form.append(this.input, step("\u2039", "the match before (shift Enter)", -1),
                step("\u203a", "the next match (Enter)", 1), this.result);
    return form;
  }

  find() {
    this.search.find(this.input.value);
    this.act.showFound();
    this.say();
  }

  step(by) {
    const match = this.search.step(by);
    if (match) this.act.jump(match);
    this.say();
  }

  clear() {
    if (this.input.value === "") return;
    this.input.value = "";
    this.find();
  }

  say() {
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

// What mouse and keys do, made of the same list that listens to them.
function helpDialog(actions) {
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
  line(["click"], "keeps a pass or transfer with its arrows; beside them lets it go");
  line(["double click"], "the whole time axis");
  for (const { names, words } of actions) if (words) line(names, words);
  line(["Enter"], "in the search box: the next match, with shift the one before");
  const close = textElement("button", "close");
  close.onclick = () => dialog.close();
  dialog.append(textElement("h2", "Mouse and keys"), list, close);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  return dialog;
}

// What keys do: `keys` as events name them, `names` as the help shows them; `run` returns false
// where the key is left to the browser.

function keyActions(page) {
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
    action(["c"], ["c"], "other colours", () => page.nextPaint()),
    action(["l"], ["l"], "lanes of transfers and collectives", () => page.toggleLanes()),
    action([","], [","], "the pass before on the device", () => selection.along(-1)),
    action(["."], ["."], "the pass after, or the first one in sight", () => selection.along(1)),
    action(["["], ["["], "the pass that the input comes from", () => selection.alongTransfers(-1)),
    action(["]"], ["]"], "a pass that takes the result", () => selection.alongTransfers(1)),
    action(["ArrowUp"], ["\u2191"], "the pass on the device above, in a timeline",
           (event) => onTimeline(event) && selection.across(-1)),
    action(["ArrowDown"], ["\u2193"], "and below",
           (event) => onTimeline(event) && selection.across(1)),
    action(["m"], ["m"], "zoom to the selected pass", () => selection.zoomToPass()),
    action(["Enter"], [], "", (event) => onTimeline(event) && selection.enter()),
    action(["Escape"], ["Esc"], "let the selection and the search go", () => {
      const any = selection.clear();
      controls.clear();
      return any;
    }),
    action(["?"], ["?"], "this help", () => page.help()),
  ];
}
