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
