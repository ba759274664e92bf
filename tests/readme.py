"""Runs the commands in README's console blocks and compares what they print with what stands there.

usage: readme.py ROOT PROGRAM [--write]     (--write puts today's output into README)
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"```console\n\$ pipewright (?P<words>.*)\n(?P<output>(?:.*\n)*?)```\n")


def output_of(program, words, folder):
    here = os.environ | {"PIPEWRIGHT_PLATFORMS": "platforms"}  # not this machine's path
    ran = subprocess.run(f"'{program}' {words} 2>&1", shell=True, cwd=folder, text=True, env=here,
                         stdout=subprocess.PIPE, check=False)
    return ran.stdout


def main():
    root, program = pathlib.Path(sys.argv[1]), os.path.abspath(sys.argv[2])
    readme = root / "README.md"
    text = readme.read_text()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("platforms", "tests"):
            os.symlink(root.resolve() / name, pathlib.Path(folder) / name)
        blocks = []

        def today(block):
            words = block["words"]
            blocks.append(words)
            return f"```console\n$ pipewright {words}\n{output_of(program, words, folder)}```\n"

        fresh = BLOCK.sub(today, text)
    if "--write" in sys.argv:
        readme.write_text(fresh)
        return 0
    if not blocks:
        print("README has no console block")
        return 1
    if fresh != text:
        print("README is not what the program prints today; 'python3 tests/readme.py . "
              "build/pipewright --write' mends it")
        return 1
    print(f"{len(blocks)} commands of README print what stands there")
    return 0


sys.exit(main())
