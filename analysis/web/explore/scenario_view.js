// Shows the text of the scenario. It can be edited, as an alternative to the controls of the form.

import { element } from "./ask.js";
import { TYPING_REST } from "./form.js";

export class ScenarioView {
  // `changed(text)`: called with the text that the user edited.
  constructor(changed) {
    this.area = element("text");
    this.fault = element("text-fault");
    this.area.oninput = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => changed(this.area.value), 2 * TYPING_REST);
    };
  }

  show(text) {
    if (this.area === document.activeElement) return;
    this.area.value = text;
    this.area.rows = Math.min(24, Math.max(8, text.split("\n").length + 1));
  }

  showFault(fault) {
    this.fault.hidden = !fault;
    this.area.toggleAttribute("aria-invalid", Boolean(fault));
    if (fault)
      this.fault.textContent = fault.line > 0 ? `line ${fault.line}: ${fault.message}` : fault.message;
  }
}
