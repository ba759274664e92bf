"""Finds comments, help texts and names that a reader cannot understand on their own.

usage: plain_english.py [ROOT] [--list] [--limits FRAGMENTS HELPS PRONOUNS]

Three measures over the product's sources (tests and vendored files are not measured):

fragments  comment blocks of three words or more that begin with a preposition, a conjunction or a
           relative pronoun, as a percentage of all comment blocks
helps      help texts in tables of keys, options and commands that begin so
pronouns   C++ and JavaScript identifiers that are a bare pronoun, participle or quantifier, as a
           percentage of all identifiers

The check fails where a measure is above its limit. --list prints every place. A place that reads
well stands in plain_english_allowed.txt beside this file, one line each: FILE: TEXT.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

FIRST_WORDS = set(
    "Of What Who Whom Whose Where That Which Whether By In From To As With How On At If For Than "
    "Until Since Beside Within Without Up Besides Likewise Because So And Or But Else Nor "
    "Neither".split()
)
PRONOUNS = set(
    "one ones other others another all each both same most least what who whom which whose where "
    "told said given found kept known wanted meant had own so such them they those these ours "
    "theirs much many few".split()
)
SOURCES = (".cpp", ".hpp", ".h", ".js", ".py")
HELP_FILES = re.compile(r"sim/(config|cli)/|sim/.*/commands?\.cpp")
HELP = re.compile(r'"((?:[A-Z]?[a-z]+)(?: [^"\\\n]{8,})?)"')
NOT_HELP = ("throw", "fmt::", "#include")
DIRECTIVE = re.compile(r"(Copyright|SPDX|NOLINT|clang-format|type:|noqa)")
LITERAL_OR_COMMENT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S
)
IDENTIFIER = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")
ALLOWED = pathlib.Path(__file__).with_name("plain_english_allowed.txt")

Place = collections.namedtuple("Place", "file line measure text")


def comment_blocks(text, name):
    """Yields the first line and the text of each block of whole-line comments."""
    mark = "#" if name.endswith(".py") else "//"
    block, start = [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        stripped = line.strip()
        if stripped.startswith(mark) and not stripped.startswith("#!"):
            if not block:
                start = number
            block.append(stripped.lstrip("/#").strip())
        elif block:
            yield start, " ".join(block)
            block = []


def help_texts(text, name):
    """Yields the line and the text of each string literal that begins a text of several words."""
    if not HELP_FILES.search(name):
        return
    previous = ""
    for number, line in enumerate(text.split("\n"), 1):
        is_continued = previous.rstrip().endswith('"') and line.lstrip().startswith('"')
        if not is_continued and not any(mark in line for mark in NOT_HELP):
            yield from ((number, m[1]) for m in HELP.finditer(line) if " " in m[1])
        previous = line


def identifiers(text):
    """Yields the line and the name of each identifier that is not a member access."""
    bare = LITERAL_OR_COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text)
    for number, line in enumerate(bare.split("\n"), 1):
        yield from ((number, m[0]) for m in IDENTIFIER.finditer(line))


def measure(name, text, totals):
    """Yields the places of one file and adds what was looked at to `totals`."""
    for line, block in comment_blocks(text, name):
        if len(block.split()) < 3 or DIRECTIVE.match(block):
            continue
        totals["fragments"] += 1
        word = re.match(r"[A-Za-z']+", block)
        if word and word[0] in FIRST_WORDS:
            yield Place(name, line, "fragments", block[:90])
    for line, help_text in help_texts(text, name):
        totals["helps"] += 1
        if help_text.split(" ")[0].capitalize() in FIRST_WORDS:
            yield Place(name, line, "helps", help_text[:90])
    if name.endswith(".py"):
        return
    for line, word in identifiers(text):
        totals["pronouns"] += 1
        if word.strip("_").lower() in PRONOUNS:
            yield Place(name, line, "pronouns", word)


def tracked_sources(root):
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\n"):
        parts = name.split("/")
        if name.endswith(SOURCES) and "vendor" not in parts and parts[0] != "tests":
            yield name


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", nargs="?", default=".", type=pathlib.Path)
    parser.add_argument("--list", action="store_true", help="print every place, not only the counts")
    parser.add_argument("--limits", nargs=3, type=float, default=(6.0, 0.0, 0.4),
                        metavar=("FRAGMENTS", "HELPS", "PRONOUNS"),
                        help="limits in percent, a count and percent (default: 6 0 0.4)")
    options = parser.parse_args()

    allowed = set(ALLOWED.read_text().split("\n")) if ALLOWED.is_file() else set()
    totals, places = collections.Counter(), []
    for name in tracked_sources(options.root):
        text = (options.root / name).read_text(encoding="utf-8", errors="replace")
        places += [p for p in measure(name, text, totals) if f"{p.file}: {p.text}" not in allowed]

    counts = collections.Counter(place.measure for place in places)
    share = {m: 100 * counts[m] / max(1, totals[m]) for m in ("fragments", "pronouns")}
    values = (share["fragments"], counts["helps"], share["pronouns"])
    above = [v > limit for v, limit in zip(values, options.limits)]
    if options.list or any(above):
        shown = places if options.list else [
            p for p in places if above[("fragments", "helps", "pronouns").index(p.measure)]]
        for place in shown if options.list else shown[:40]:
            print(f"{place.file}:{place.line}: {place.measure}: {place.text}")
    print(f"fragments: {counts['fragments']} of {totals['fragments']} comment blocks, "
          f"{values[0]:.2f} % (limit {options.limits[0]:g} %)\n"
          f"helps: {counts['helps']} of {totals['helps']} (limit {options.limits[1]:g})\n"
          f"pronouns: {counts['pronouns']} of {totals['pronouns']} identifiers, "
          f"{values[2]:.2f} % (limit {options.limits[2]:g} %)")
    return 1 if any(above) else 0


if __name__ == "__main__":
    sys.exit(main())
