"""Checks the types of the package, of user code and of the examples in the docs.

usage: check_types.py ROOT PACKAGE CACHE CHECKER..

PACKAGE is the folder of the package, CACHE one for mypy. CHECKER is `mypy` or `pyright`, which are
run if they are given. Each block of Python in docs/ that uses the package must pass strictly.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"<!-- file: (\S+\.py) -->\n```python\n(.*?)```", re.S)


def examples(root):
    for page in sorted((root / "docs").glob("*.md")):
        for name, text in BLOCK.findall(page.read_text()):
            if "pipewright" in text:
                yield f"{page.stem}_{name}".replace("-", "_"), text


def main():
    root, package, cache, *checkers = sys.argv[1:]
    root, package = pathlib.Path(root).resolve(), pathlib.Path(package).resolve()
    with tempfile.TemporaryDirectory(prefix="pipewright-types-") as folder:
        files = [root / "tests/python/typed_use.py"]
        for name, text in examples(root):
            files.append(pathlib.Path(folder) / name)
            files[-1].write_text(text)
        if len(files) < 4:
            sys.exit("docs/ has no examples of Python")
        for checker in checkers:
            words = [checker]
            if checker.endswith("mypy"):
                words += ["--config-file", root / "pyproject.toml", "--cache-dir", cache]
                words += ["--python-executable", sys.executable, package]
            else:
                settings = pathlib.Path(folder) / "pyrightconfig.json"
                settings.write_text('{"typeCheckingMode": "standard", "reportMissingModuleSource": "none"}')
                words += ["--pythonpath", sys.executable, "--project", settings]
                files = [file for file in files if file.is_relative_to(folder)]
            done = subprocess.run([*map(str, words), *(map(str, files) if checker.endswith("mypy") else ())],
                                  cwd=package.parent)
            if done.returncode:
                sys.exit(done.returncode)


main()
