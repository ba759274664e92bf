"""Runs the notebooks of python/notebooks and compares the pages made of them with docs/notebooks.

usage: notebooks.py ROOT PYTHONPATH [NAME...] [--write]

PYTHONPATH is where the package is, NAME a notebook without .ipynb; without one, all are run. --write
puts today's pages and pictures there. A notebook runs in a folder like its own, with links to
platforms/ and tests/ two folders above, and is committed without outputs.
"""

import argparse
import base64
import difflib
import os
import pathlib
import re
import sys
import tempfile

try:
    import nbclient
    import nbformat
except ImportError as error:
    print(f"skipped: without {error.name} no notebook is run")
    sys.exit(77)

PICTURE = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
INLINE = re.compile(r"<svg .*?</svg>", re.DOTALL)
SECONDS = 600


def run(root, packages, source):
    notebook = nbformat.read(source, as_version=4)
    faults = [f"cell {number + 1} is committed with its output" for number, cell in
              enumerate(notebook.cells) if cell.cell_type == "code" and cell.outputs]
    with tempfile.TemporaryDirectory() as top:
        folder = pathlib.Path(top, "python", "notebooks")
        folder.mkdir(parents=True)
        for name in ("platforms", "tests"):
            os.symlink(root / name, pathlib.Path(top, name))
        os.environ |= {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1",
                       "PIPEWRIGHT_PLATFORMS": str(root / "platforms"),
                       "XDG_CACHE_HOME": str(pathlib.Path(top, "cache"))}
        nbclient.NotebookClient(notebook, timeout=SECONDS, kernel_name="python3",
                                resources={"metadata": {"path": folder}}).execute()
    return notebook, faults


class Page:
    """A notebook as a page of Markdown, and its pictures by the names of their files."""

    def __init__(self, name, notebook):
        self.name = name
        self.pictures = {}
        parts = [self.markdown(cell) if cell.cell_type == "markdown" else self.code(cell)
                 for cell in notebook.cells]
        self.text = "\n\n".join(part for part in parts if part)
        self.text += (f"\n\nThis page is the notebook [{name}.ipynb](../../python/notebooks/"
                      f"{name}.ipynb), as it runs today.\n\nNext: [from Python](../python.md).\n")

    @staticmethod
    def markdown(cell):
        return cell.source.strip()

    def code(self, cell):
        parts = [f"```python\n{cell.source.strip()}\n```"]
        printed = "".join(output.text for output in cell.outputs
                          if output.output_type == "stream" and output.name == "stdout")
        if printed.strip():
            parts.append(self.block(printed))
        for output in cell.outputs:
            # A progress line has been erased by the end of the cell, so its output is empty.
            if "".join(output.get("data", {}).values()):
                parts.append(self.shown(output.data))
        return "\n\n".join(parts)

    @staticmethod
    def block(text):
        lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
        return f"```text\n{lines}\n```"

    def shown(self, data):
        html = data.get("text/html", "")
        pictures = [base64.b64decode(one).decode() for one in PICTURE.findall(html)]
        # Inline pictures take the text colour of the page around them. A file has no such page, so
        # it gets a fixed dark grey.
        pictures += [one.replace("<svg ", '<svg color="#333" ', 1) for one in INLINE.findall(html)]
        if not pictures:
            return self.block(data["text/plain"])
        links = []
        for picture in pictures:
            file = f"{self.name}-{len(self.pictures) + 1}.svg"
            self.pictures[file] = picture.rstrip("\n") + "\n"
            links.append(f"![{data['text/plain'].splitlines()[0]}]({file})")
        return "\n\n".join(links)


def drawn_by_another(picture, today):
    """Whether another cairo drew it, which has other glyphs: those before 1.18 tell SVG's version."""
    def is_old(svg):
        return 'version="1.1"' in svg.partition("<defs>")[0]

    return "<defs>" in picture and is_old(picture) != is_old(today)


def compare(folder, name, page, write):
    """The differences between what is there and what is today; or writes the latter."""
    files = {f"{name}.md": page.text, **page.pictures}
    there = {path.name for path in folder.glob(f"{name}-*.svg")} | {f"{name}.md"}
    differences = []
    for file in sorted(there | files.keys()):
        path, today = folder / file, files.get(file)
        if write and today is None:
            path.unlink()
        elif write:
            folder.mkdir(exist_ok=True)
            path.write_text(today)
        elif path.exists() and today and drawn_by_another(path.read_text(), today):
            continue
        elif not path.exists() or path.read_text() != (today or ""):
            before = path.read_text() if path.exists() else ""
            lines = difflib.unified_diff(before.splitlines(True), (today or "").splitlines(True),
                                         file, f"{file} today")
            differences += list(lines)[:60]
    return differences


def main():
    arguments = argparse.ArgumentParser(add_help=False)
    arguments.add_argument("root", type=lambda path: pathlib.Path(path).resolve())
    arguments.add_argument("packages", type=lambda path: pathlib.Path(path).resolve())
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_intermixed_args()
    sources = given.root / "python" / "notebooks"
    status = 0
    for name in given.names or sorted(path.stem for path in sources.glob("*.ipynb")):
        notebook, faults = run(given.root, given.packages, sources / f"{name}.ipynb")
        differences = compare(given.root / "docs" / "notebooks", name, Page(name, notebook),
                              given.write)
        sys.stdout.writelines(differences)
        for fault in faults:
            print(f"{name}: {fault}")
        if differences:
            print(f"docs/notebooks/{name}.md is not what the notebook gives today; "
                  "'python3 tests/docs/notebooks.py . build/python --write' mends it")
        status = 1 if faults or differences else status
        print(f"{name}: {len(notebook.cells)} cells")
    return status


sys.exit(main())
