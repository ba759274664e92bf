// What the pointer is on, in words, beside the pointer. Names become text and nothing else.

class Tooltip {
  constructor(element) {
    this.element = element;
  }

  show(event, description) {
    fillDescription(this.element, description);
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const right = event.clientX + 16 + width > window.innerWidth;
    const below = event.clientY + 16 + height > window.innerHeight;
    const x = right ? Math.max(4, event.clientX - 12 - width) : event.clientX + 16;
    const y = below ? Math.max(4, event.clientY - 12 - height) : event.clientY + 16;
    this.element.style.transform = `translate(${x}px, ${y}px)`;
  }

  hide() {
    this.element.hidden = true;
  }
}

// A head and lines of name and value.
function fillDescription(element, { head, lines }) {
  const list = document.createElement("dl");
  for (const [name, value] of lines) list.append(textElement("dt", name), textElement("dd", value));
  element.replaceChildren(textElement("b", head), list);
}
