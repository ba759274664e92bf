// Input by mouse, touch and keyboard.

export const ZOOM_STEP = 1.5;

// Calls onPoint(x, y) with the pointer's position in pixels of the element, or with null when the
// pointer leaves or drags. Calls onClick(x, y) for clicks that are not the end of a drag.
export function listenToPointer(element, view, selection, onPoint, onClick = () => {}) {
  let drag = null;
  const place = (event) => event.clientX - element.getBoundingClientRect().left;

  element.addEventListener("wheel", (event) => {
    const x = place(event);
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (x < view.left || (view.fitted && event.deltaY >= 0 && !sideways)) return;  // the page scrolls
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : 30;
    const perPixel = (view.to - view.from) / view.width;
    if (sideways || event.shiftKey) view.pan((event.deltaX || event.deltaY) * unit * perPixel);
    else view.zoom(Math.exp(event.deltaY * unit * 0.002), view.time(x));
  }, { passive: false });

  element.addEventListener("pointerdown", (event) => {
    const x = place(event);
    if (event.button !== 0 || x < view.left) return;
    event.preventDefault();
    element.classList.add("pointed");  // hides the focus ring
    if (element.tabIndex >= 0) element.focus({ preventScroll: true });
    else document.activeElement?.blur();  // returns keyboard input to the page
    element.setPointerCapture(event.pointerId);
    drag = { x, select: event.shiftKey, from: view.from, start: x };
    if (!drag.select) element.classList.add("dragging");
    onPoint(null);
  });
  element.addEventListener("pointermove", (event) => {
    const x = place(event);
    if (!drag) return onPoint(x, event.clientY - element.getBoundingClientRect().top);
    if (drag.select) {
      const [a, b] = [drag.start, x].sort((left, right) => left - right);
      selection.hidden = false;
      selection.style.left = `${Math.max(a, view.left)}px`;
      selection.style.width = `${Math.min(b, view.left + view.width) - Math.max(a, view.left)}px`;
    } else {
      view.pan(((drag.x - x) / view.width) * (view.to - view.from));
      drag.x = x;
    }
  });
  const release = (event) => {
    if (!drag) return;
    const { select, start, from } = drag;
    drag = null;
    element.classList.remove("dragging");
    selection.hidden = true;
    const x = place(event);
    if (event.type !== "pointerup") return;
    if (Math.abs(x - start) > 3) {
      if (select) view.show(view.time(Math.min(start, x)), view.time(Math.max(start, x)));
    } else if (from === view.from) {
      onClick(x, event.clientY - element.getBoundingClientRect().top);
    }
  };
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);
  element.addEventListener("pointerleave", () => onPoint(null));
  element.addEventListener("blur", () => element.classList.remove("pointed"));
  element.addEventListener("dblclick", () => view.fit());
}

// Runs `actions`: {keys, words, run}. Controls keep the keys that they handle themselves.
export function listenToKeys(actions) {
  const byKey = new Map(actions.flatMap((action) => action.keys.map((key) => [key, action])));
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, dialog")) return;
    const action = byKey.get(event.key);
    if (!action || action.run(event) === false) return;
    event.preventDefault();
  });
}
