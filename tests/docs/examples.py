"""Runs the examples of README.md and docs/ and compares what they print with what stands there.

usage: examples.py ROOT PROGRAM [PAGE...] [--write]

PAGE is a path from ROOT; without one, all pages are looked at. --write puts today's output there.

In a block marked `console`, each line that begins with "$ " is a command, and what follows is what
it prints. A page's commands run in order in one folder, which has links to platforms/ and tests/.
A block after a line `<!-- file: NAME -->` is written to that file of the folder for the commands.
Every block of YAML, Python or shell has such a name and is used by a command; scripts of a shell
are checked for their syntax alone, since they are for batch systems.
"""

import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:<!-- file: (?P<file>\S+) -->\n)?"
                   r"```(?P<language>\w*)\n(?P<text>(?:(?!```).*\n)*)```\n")
PYTHON_WITH_H5PY = "/usr/bin/python3"


class Folder:
    """Where the commands of a page run."""

    def __init__(self, root, program, path):
        self.path = pathlib.Path(path)
        for name in ("platforms", "tests", "examples"):
            os.symlink(root / name, self.path / name)
        tools = self.path / ".tools"
        tools.mkdir()
        os.symlink(PYTHON_WITH_H5PY, tools / "python3")
        self.has_h5py = subprocess.run([PYTHON_WITH_H5PY, "-c", "import h5py"], check=False,
                                       stderr=subprocess.DEVNULL).returncode == 0
        self.has_package = (program.parent / "python" / "pipewright" / "_keys.py").exists()
        self.has_mpi = shutil.which("mpirun") is not None and \
            (program.parent / "pipewright-mpi").exists()
        self.environment = os.environ | {
            "PATH": f"{tools}:{program.parent}:{os.environ['PATH']}",
            "PIPEWRIGHT_PLATFORMS": "platforms",  # not this machine's path
            "PYTHONPATH": str(program.parent / "python"),
            "XDG_CACHE_HOME": str(tools / "cache"),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_btl": "^tcp",  # all ranks are here, where networks may be none or odd
        }

    def can_run(self, command):
        return (self.has_mpi or not command.startswith("mpirun")) and \
            (self.has_h5py and self.has_package or not command.startswith("python3"))

    def output_of(self, command):
        return subprocess.run(["bash", "-c", command], cwd=self.path, text=True, check=False,
                              env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT).stdout


class Page:
    """The text of a page, what it would be today, and what is wrong with its blocks."""

    def __init__(self, text, folder):
        self.folder = folder
        self.commands = []
        self.files = []
        self.faults = []
        self.today = BLOCK.sub(self.replacement, text)
        for name in self.files:
            if not any(name in command for command in self.commands):
                self.faults.append(f"no command uses {name}")

    def replacement(self, block):
        language, text = block["language"], block["text"]
        if language == "console":
            return f"```console\n{self.console(text)}```\n"
        if language == "bash":
            checked = subprocess.run(["bash", "-n"], input=text, text=True, check=False,
                                     stderr=subprocess.PIPE)
            self.faults += checked.stderr.splitlines()
        elif block["file"]:
            self.files.append(block["file"])
            (self.folder.path / block["file"]).write_text(text)
        elif language in ("yaml", "python"):
            self.faults.append(f"a block of {language} has no name: {text.splitlines()[0]}")
        return block[0]

    def console(self, text):
        today = []
        for part in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
            if not part:
                continue
            command, _, output = part.partition("\n")
            while command.endswith("\\"):
                line, _, output = output.partition("\n")
                command += "\n" + line
            words = command.removeprefix("$ ")
            self.commands.append(words)
            if self.folder.can_run(words):
                output = self.folder.output_of(words)
            today.append(f"{command}\n{output}")
        return "".join(today)


def main():
    arguments = argparse.ArgumentParser(add_help=False)
    arguments.add_argument("root", type=lambda path: pathlib.Path(path).resolve())
    arguments.add_argument("program", type=lambda path: pathlib.Path(path).resolve())
    arguments.add_argument("pages", nargs="*")
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_intermixed_args()
    pages = given.pages or ["README.md", *sorted(
        str(path.relative_to(given.root)) for path in (given.root / "docs").glob("*.md"))]
    status = 0
    for name in pages:
        path = given.root / name
        text = path.read_text()
        with tempfile.TemporaryDirectory() as folder:
            page = Page(text, Folder(given.root, given.program, folder))
        for fault in page.faults:
            print(f"{name}: {fault}")
        if given.write:
            path.write_text(page.today)
        elif page.today != text:
            sys.stdout.writelines(difflib.unified_diff(
                text.splitlines(True), page.today.splitlines(True), name, f"{name} today"))
            print(f"{name} is not what the program prints today; 'python3 tests/docs/examples.py . "
                  f"build/pipewright {name} --write' mends it")
        if page.faults or (page.today != text and not given.write):
            status = 1
        else:
            print(f"{name}: {len(page.commands)} commands")
    return status


sys.exit(main())
