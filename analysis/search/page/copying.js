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
