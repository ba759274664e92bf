// Keyboard shortcuts of this page, and their help, which is generated from the same table. The embedded
// page of a run has shortcuts of its own.

import { textElement } from "../script/elements.js";
import { element } from "./ask.js";

const TABS = ["run", "what-if", "variants", "search", "goodput", "notes"];

function showTab(name) {
  for (const tabName of TABS) {
    const tab = element(`tab-${tabName}`);
    tab.setAttribute("aria-selected", String(tabName === name));
    tab.tabIndex = tabName === name ? 0 : -1;
    element(`pane-${tabName}`).hidden = tabName !== name;
  }
}

export function listenToTabs() {
  for (const name of TABS) element(`tab-${name}`).onclick = () => showTab(name);
  document.querySelector(".tabs").onkeydown = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const at = TABS.findIndex((name) => element(`tab-${name}`) === document.activeElement);
    const name = TABS[(at + by + TABS.length) % TABS.length];
    showTab(name);
    element(`tab-${name}`).focus();
  };
  showTab("run");
}

export function exploreKeys(explorer) {
  const focus = (id) => () => element(id)?.focus();
  return [
    ["m", "go to the model", focus("key-model")],
    ["p", "go to the layout", focus("key-parallel.tp")],
    ["s", "go to the schedule", focus("key-schedule.name")],
    ["a", "add a key", focus("any-key")],
    ["e", "go to the text of the scenario", () => {
      element("as-text").open = true;
      element("text").focus();
    }],
    ["k", "keep the run as a variant", () => explorer.keep()],
    ["w", "simulate what-ifs", () => {
      showTab("what-if");
      explorer.whatIfs.simulate();
    }],
    ["t", "take away scenario, page or launch flags", () => explorer.takeAway.open()],
    ...TABS.map((name, i) => [String(i + 1), `the view "${element(`tab-${name}`).textContent}"`,
                              () => showTab(name)]),
    ["?", "this help", () => explorer.help()],
  ];
}

export function listenToExploreKeys(actions) {
  addEventListener("keydown", (event) => {
    const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
    if (event.key === "Escape" && typing) typing.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") && event.key !== "?") return;
    const action = actions.find(([key]) => key === event.key);
    if (!action) return;
    event.preventDefault();
    action[2]();
  });
}

export function exploreHelp(actions) {
  const dialog = document.createElement("dialog");
  dialog.id = "keys";
  dialog.setAttribute("aria-label", "keys");
  const list = document.createElement("dl");
  const line = (key, words) => {
    const name = document.createElement("dt");
    name.append(textElement("kbd", key));
    list.append(name, textElement("dd", words));
  };
  for (const [key, words] of actions) line(key, words);
  line("\u2191 \u2193", "in a number field: double and halve the number");
  line("Esc", "leave a field, close a dialog");
  const close = textElement("button", "close");
  close.onclick = () => dialog.close();
  dialog.append(textElement("h2", "Keys"), list, close);
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
  document.body.append(dialog);
  return dialog;
}
