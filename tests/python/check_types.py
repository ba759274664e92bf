"""Checks the types of the package, of user code and of the examples in the docs.

usage: check_types.py ROOT PACKAGE CACHE CHECKER

PACKAGE is the folder of the package, CACHE one for mypy. CHECKER is the program mypy, which also
checks the package itself, or pyright. Each block of Python in docs/ that uses the package must pass
strictly.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"<!-- file: (\S+\.py) -->\n```python\n(.*?)```", re.S)


def write_examples(root, folder):
    """Writes the examples of all pages to a folder, and returns their files."""
    files = []
    for page in sorted((root / "docs").glob("*.md")):
        for name, text in BLOCK.findall(page.read_text()):
            if "pipewright" not in text:
                continue
            files.append(folder / f"{page.stem}_{name}".replace("-", "_"))
            files[-1].write_text(text)
    if len(files) < 3:
        sys.exit("docs/ has few examples of Python")
    return files


def mypy_words(root, package, cache, files):
    words = ["--config-file", root / "pyproject.toml", "--cache-dir", cache]
    return [*words, "--python-executable", sys.executable, package,
            root / "tests/python/typed_use.py", *files]


def pyright_words(package, folder):
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(package.parent)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return ["--pythonpath", sys.executable, "--project", folder]


def main():
    root, package = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    cache, checker = sys.argv[3:]
    with tempfile.TemporaryDirectory(prefix="pipewright-types-") as name:
        folder = pathlib.Path(name)
        files = write_examples(root, folder)
        if pathlib.Path(checker).name == "pyright":
            words = pyright_words(package, folder)
        else:
            words = mypy_words(root, package, cache, files)
        sys.exit(subprocess.run([checker, *map(str, words)], cwd=package.parent).returncode)


main()
