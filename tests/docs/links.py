"""Checks what the pages of this project say of each other.

usage: links.py ROOT

Every link of a Markdown file to a file or to a heading leads somewhere. A page of docs/
itself opens with a question, which README.md repeats in a row of its table, and ends with links. A text between
`<!-- shared: NAME -->` and `<!-- end of NAME -->` is the same wherever it stands.
"""

import pathlib
import re
import sys

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|!?\[[^\]]*\]\([^)]*\))*\]\((?P<target>[^)\s]+)\)")
SHARED = re.compile(r"<!-- shared: (?P<name>[\w ]+?)(?:;.*?)? -->\n(?P<text>.*?)"
                    r"<!-- end of (?P=name) -->", re.DOTALL)
FOLDERS = ("analysis", "docs", "platforms", "schedules", "sim", "tests")
MOST_LINES_OF_README = 250


def anchors(text):
    """The names that GitHub gives to the headings of a page."""
    found = {}
    for heading in re.findall(r"^#+ +(.*?)\s*$", FENCE.sub("", text), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        number = found.setdefault(name, 0)
        found[name] += 1
        yield f"{name}-{number}" if number else name


def broken_links(root, pages):
    for page, text in pages.items():
        without_code = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
        for link in LINK.finditer(without_code):
            target = link["target"]
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (root / page).parent / path if path else root / page
            if not file.exists():
                yield f"{page}: no file {target}"
            elif anchor and anchor not in anchors(file.read_text()):
                yield f"{page}: no heading {target}"


def misshapen_pages(pages):
    for page, text in pages.items():
        if pathlib.PurePath(page).parent != pathlib.PurePath("docs"):
            continue
        lines = text.splitlines()
        if not lines[0].startswith("# ") or lines[1] or not lines[2].endswith("?") or lines[3]:
            yield f"{page}: begins with no title and a question of one line"
        if not LINK.search(text[text.rstrip().rfind("\n\n"):]):
            yield f"{page}: ends without links to what is next"
        name = pathlib.Path(page).stem
        if f"| [{name}]({page}) | {lines[2]} |" not in pages["README.md"]:
            yield f"README.md: no row of {page} with its question"


def unequal_copies(pages):
    texts = {}
    for page, text in pages.items():
        for shared in SHARED.finditer(text):
            first, where = texts.setdefault(shared["name"], (shared["text"], page))
            if shared["text"] != first:
                yield f"{page}: '{shared['name']}' differs from that of {where}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    files = [*root.glob("*.md"), *(path for folder in FOLDERS for path in (root / folder).rglob("*.md")
                                   if "node_modules" not in path.parts)]
    pages = {str(path.relative_to(root)): path.read_text() for path in sorted(files)}
    faults = [*broken_links(root, pages), *misshapen_pages(pages), *unequal_copies(pages)]
    length = len(pages["README.md"].splitlines())
    if length > MOST_LINES_OF_README:
        faults.append(f"README.md: {length} lines, at most {MOST_LINES_OF_README}")
    print("\n".join(faults) or f"{len(pages)} pages lead to each other as they say")
    return 1 if faults else 0


sys.exit(main())
