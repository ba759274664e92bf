// Horizontal bars of parts, and what their colours mean.

const LEAST_SEPARATED = 0.005;  // a part that is narrower has no gap after it

// `parts`: {words, fill, share, text}; the rest of the bar up to 1 stays empty.
function stackedBar(parts) {
  const bar = mark("bar");
  for (const { words, fill, share, text } of parts) {
    if (!(share > 0)) continue;
    const part = document.createElement("i");
    part.style.width = `${100 * share}%`;
    part.style.background = fill;
    if (share > LEAST_SEPARATED) part.className = "wide-part";
    part.title = `${words}: ${text}`;
    bar.append(part);
  }
  return bar;
}

function barLegend(parts) {
  const line = captionLine();
  for (const { words, fill, text } of parts) {
    const entry = mark("entry");
    entry.append(swatch(fill), text ? `${words} ${noBreak(text)}` : words);
    line.append(entry);
  }
  return line;
}
