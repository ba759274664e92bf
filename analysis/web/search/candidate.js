// The card of one candidate: its figures, how its time is split compared to the best candidate's,
// and its scenario.

import {
  barLegend, detailsElement, mark, nameElement, stackedBar, textElement
} from "../script/elements.js";
import { formatPercent, formatSeconds, noBreak } from "../script/units.js";
import {
  OUTCOME, axisName, expectedErrorsOf, figureLines, openAxes, scenarioOf, search
} from "./search_data.js";

export function chips(rows, row, best) {
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

// Seconds that each activity takes in an iteration of a candidate, scaled to as much work as an
// iteration of the candidate `reference` does.
export function partSeconds(rows, row, reference) {
  const work = (i) => rows.throughput[i] * rows.seconds[i];
  const scale = work(row) > 0 && work(reference) > 0 ? work(reference) / work(row) : 1;
  return rows.parts.map((column) => column[row] * scale);
}

export const sum = (values) => values.reduce((total, value) => total + value, 0);

function timeBars(rows, row, best) {
  const bars = mark("bars");
  const compared = best === null || best === row ? [row] : [row, best];
  const seconds = compared.map((candidate) => partSeconds(rows, candidate, row));
  const longest = Math.max(...seconds.map(sum));
  compared.forEach((_, i) => {
    const total = sum(seconds[i]);
    bars.append(textElement("span", i === 0 ? "this candidate" : "best"));
    bars.append(stackedBar(search.parts.map(({ words, colour }, part) => ({
      words, fill: colour, share: longest > 0 ? seconds[i][part] / longest : 0,
      text: `${formatSeconds(seconds[i][part])}, ${formatPercent(seconds[i][part] / total)}`,
    }))));
  });
  return bars;
}

// Number of GPUs of a candidate divided by that of the best one; 1 if a number is unknown.
export const gpuShare = (rows, row, best) =>
  (rows.gpus[row] > 0 && rows.gpus[best] > 0 ? rows.gpus[row] / rows.gpus[best] : 1);

// Returns the additional time that a candidate spends on each activity, compared with the best one,
// as a share of the best one's iteration, largest difference first. If numbers of GPUs differ, GPU time is compared.
export function partDifferences(rows, row, best) {
  const share = gpuShare(rows, row, best);
  const rowSeconds = partSeconds(rows, row, best).map((seconds) => seconds * share);
  const bestSeconds = partSeconds(rows, best, best);
  return search.parts
    .map(({ words, colour }, i) => ({ words, colour, seconds: rowSeconds[i] - bestSeconds[i],
                                      share: (rowSeconds[i] - bestSeconds[i]) / rows.seconds[best] }))
    .filter(({ share }) => Math.abs(share) >= 0.0005)
    .sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
}

export const signed = (share) => `${share > 0 ? "+" : ""}${formatPercent(share)}`;

function differenceWords(rows, row, best) {
  const parts = partDifferences(rows, row, best);
  if (parts.length === 0) return "its time is split like the best candidate's";
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

// Fills the card of a row. The scenario is added later, if isCurrent() says that the card still shows
// this row.
export async function fillCandidate(element, rows, row, best, isCurrent) {
  if (row === null) {
    element.replaceChildren(textElement("p", "Click on a point to see the candidate.", "note"));
    return;
  }
  const simulated = rows.outcome[row] === OUTCOME.simulated;
  const status = simulated ? "this candidate" : search.outcomes[rows.outcome[row]];
  const title = row === best ? "best candidate" : status;
  const list = document.createElement("dl");
  for (const [name, value] of figureLines(rows, row, best))
    list.append(textElement("dt", name), textElement("dd", noBreak(value)));
  const parts = [textElement("h3", title), chips(rows, row, best), list,
                 ...expectedErrorsOf(rows, [row])];
  if (simulated) {
    parts.push(textElement("h3", "split of its time"), timeBars(rows, row, best), partsLegend(rows, row));
    if (best !== null && best !== row)
      parts.push(textElement("p", `${differenceWords(rows, row, best)} of the best candidate's iteration`,
                             "note"));
  }
  element.replaceChildren(...parts);
  if (!simulated) return;
  const {text, launches} = await scenarioOf(row) ?? {};
  if (!isCurrent()) return;
  if (text === undefined) {
    element.append(textElement("p", "This page has scenarios only for the front and for the " +
                                    "best candidates.", "note"));
    return;
  }
  const command = commandFor(`candidate-${rows.candidate[row]}`, text);
  const buttons = mark("buttons");
  buttons.append(copyButton("copy the command", command), copyButton("copy the scenario", text));
  // Buttons that copy launch scripts for other programs.
  for (const [program, launch] of launches)
    buttons.append(copyButton(`copy for ${program}`, launch));
  const shown = textElement("pre", command);
  shown.id = "command";
  shown.tabIndex = 0;
  element.append(buttons, detailsElement("its scenario and how to run it", false, shown));
}

// Shell command that writes a scenario to a file and runs it.
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
    // Browsers have no clipboard API on pages that are not served securely.
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
