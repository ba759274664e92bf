// The card of one candidate: its figures, where its time goes beside the best's, its scenario.

function chips(rows, row, best) {
  const line = mark("chips");
  for (const axis of openAxes) {
    const chip = mark("chip");
    const value = rows.axes[axis][row];
    if (best !== null && rows.axes[axis][best] !== value) chip.classList.add("other");
    chip.append(textElement("small", axisName(axis)), nameElement("b", search.axes[axis].values[value]));
    line.append(chip);
  }
  return line;
}

// Seconds of each part for as much work as an iteration of `like` does.
function partSeconds(rows, row, like) {
  const work = (i) => rows.throughput[i] * rows.seconds[i];
  const scale = work(row) > 0 && work(like) > 0 ? work(like) / work(row) : 1;
  return rows.parts.map((column) => column[row] * scale);
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

function timeBars(rows, row, best) {
  const bars = mark("bars");
  const compared = best === null || best === row ? [row] : [row, best];
  const seconds = compared.map((one) => partSeconds(rows, one, row));
  const longest = Math.max(...seconds.map(sum));
  compared.forEach((one, i) => {
    const total = sum(seconds[i]);
    bars.append(textElement("span", i === 0 ? "this" : "the best"));
    bars.append(stackedBar(search.parts.map(({ words, colour }, part) => ({
      words, fill: colour, share: longest > 0 ? seconds[i][part] / longest : 0,
      text: `${formatSeconds(seconds[i][part])}, ${formatPercent(seconds[i][part] / total)}`,
    }))));
  });
  return bars;
}

// How many GPUs a row has for each of the better one; 1 where that is not known.
const gpuShare = (rows, row, best) =>
  (rows.gpus[row] > 0 && rows.gpus[best] > 0 ? rows.gpus[row] / rows.gpus[best] : 1);

// Differences of parts, as a part of the better one's iteration; the largest first. Of unlike numbers
// of GPUs GPU time is compared: half of them take twice as long, which says nothing about either.
function partDifferences(rows, row, best) {
  const share = gpuShare(rows, row, best);
  const mine = partSeconds(rows, row, best).map((seconds) => seconds * share);
  const its = partSeconds(rows, best, best);
  return search.parts
    .map(({ words, colour }, i) => ({ words, colour, seconds: mine[i] - its[i],
                                      share: (mine[i] - its[i]) / rows.seconds[best] }))
    .filter(({ share }) => Math.abs(share) >= 0.0005)
    .sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
}

const signed = (share) => `${share > 0 ? "+" : ""}${formatPercent(share)}`;

function differenceWords(rows, row, best) {
  const parts = partDifferences(rows, row, best);
  if (parts.length === 0) return "its time goes where the best's does";
  return (gpuShare(rows, row, best) === 1 ? "" : "GPU time for the same work: ") +
         parts.map(({ words, share }) => `${signed(share)} ${words}`).join(", ");
}

function partsLegend(rows, row) {
  const total = rows.seconds[row];
  return barLegend(search.parts
    .map(({ words, colour }, i) => ({ words, fill: colour, share: rows.parts[i][row] / total }))
    .filter(({ share }) => share >= 0.0005)
    .map(({ words, fill, share }) => ({ words, fill, text: formatPercent(share) })));
}

// Fills the card; `isCurrent` tells whether it still is of this row when its scenario has come.
async function fillCandidate(element, rows, row, best, isCurrent) {
  if (row === null) {
    element.replaceChildren(textElement("p", "Click on a point to see what it is.", "note"));
    return;
  }
  const simulated = rows.outcome[row] === OUTCOME.simulated;
  const title = row === best ? "the best" : simulated ? "this candidate" : search.outcomes[rows.outcome[row]];
  const list = document.createElement("dl");
  for (const [name, value] of figureLines(rows, row, best))
    list.append(textElement("dt", name), textElement("dd", noBreak(value)));
  const parts = [textElement("h3", title), chips(rows, row, best), list,
                 ...assumedNotesOf(rows, [row])];
  if (simulated) {
    parts.push(textElement("h3", "where its time goes"), timeBars(rows, row, best), partsLegend(rows, row));
    if (best !== null && best !== row)
      parts.push(textElement("p", `${differenceWords(rows, row, best)} of the best's iteration`, "note"));
  }
  element.replaceChildren(...parts);
  if (!simulated) return;
  const {text, launches} = await scenarioOf(row) ?? {};
  if (!isCurrent()) return;
  if (text === undefined) {
    element.append(textElement("p", "Its scenario is not on this page, which has those of the " +
                                    "fronts and of the best.", "note"));
    return;
  }
  const command = commandFor(`candidate-${rows.candidate[row]}`, text);
  const buttons = mark("buttons");
  buttons.append(copyButton("copy the command", command), copyButton("copy the scenario", text));
  // What starts it with other programs.
  for (const [program, launch] of launches)
    buttons.append(copyButton(`copy for ${program}`, launch));
  const shown = textElement("pre", command);
  shown.id = "command";
  shown.tabIndex = 0;
  element.append(buttons, detailsElement("its scenario and how to run it", false, shown));
}

// Texts to take away, and the shell's way to make a file of one.

function commandFor(name, text) {
  let end = "END_OF_SCENARIO";
  while (text.split("\n").includes(end)) end += "_";
  const file = `${name}.yaml`;
  return `cat > ${file} <<'${end}'\n${text.replace(/\n*$/, "\n")}${end}\npipewright run ${file}\n`;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without a clipboard of its own, as on pages that were not opened safely.
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    return copied;
  }
}

function copyButton(words, text) {
  const button = textElement("button", words);
  button.onclick = async () => {
    button.textContent = (await copyText(text)) ? "copied" : "select the text below to copy it";
    setTimeout(() => { button.textContent = words; }, 2000);
  };
  return button;
}
