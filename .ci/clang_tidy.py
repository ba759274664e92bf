"""Runs clang-tidy over the product's sources, side by side, and remembers which files were clean.

usage: clang_tidy.py BUILD [--since REVISION | --all] [--budget SECONDS]

BUILD holds a compile_commands.json. By default, the files to check are those that changed since the
merge base with the branch's upstream, or in the newest ten commits where the branch has no commits
of its own; --since names another revision. A changed header is checked through one file that
includes it. BUILD/clean keeps a stamp for each clean file; a file with a stamp is skipped until its
text, a header of the project that it includes, or the configuration changes. --all checks every
file, whatever the stamps say.

--budget stops starting files after that many seconds. Files are then checked in the order of their
last check, oldest first (BUILD/checked.json), and files that were never checked come in an order
that differs from commit to commit, so that successive runs cover the whole tree.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

TIDY = "clang-tidy-16"
FOLDERS = ("schedules/", "analysis/", "sim/")
NEWEST = 10  # commits
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.M)


def git(*words):
    ran = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    return ran.stdout.split() if ran.returncode == 0 else []


class Sources:
    """The project's source files, and the project's headers that each includes, also indirectly."""

    def __init__(self, root, paths):
        self.root = root
        self.texts = {}
        self.paths = sorted(paths)

    def text(self, path):
        if path not in self.texts:
            file = self.root / path
            self.texts[path] = file.read_bytes() if file.is_file() else b""
        return self.texts[path]

    def seen_by(self, path):
        seen, to_read = {path}, [path]
        while to_read:
            for name in INCLUDE.findall(self.text(to_read.pop())):
                name = name.decode()
                if name not in seen and (self.root / name).is_file():
                    seen.add(name)
                    to_read.append(name)
        return seen


def changed_since(revision):
    """Names of the files changed since a revision; None where the history is too short to tell."""
    if not revision:
        base = git("merge-base", "HEAD", "@{upstream}")
        if not base or base == git("rev-parse", "HEAD"):
            base = git("rev-parse", "--verify", "--quiet", f"HEAD~{NEWEST}")
        if not base:
            return None
        revision = base[0]
    names = git("diff", "--name-only", revision) + git("ls-files", "--others", "--exclude-standard")
    return set(names)


def affected(sources, changed):
    """The changed .cpp files, and one user of each changed header that none of them includes."""
    chosen = [path for path in sources.paths if path in changed]
    covered = set().union(*(sources.seen_by(path) for path in chosen))
    for path in sources.paths:
        fresh = (sources.seen_by(path) & changed) - covered
        if fresh:
            chosen.append(path)
            covered |= sources.seen_by(path)
    return sorted(chosen)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--since", metavar="REVISION")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--budget", type=float, metavar="SECONDS", default=float("inf"))
    options = parser.parse_args()
    deadline = time.monotonic() + options.budget

    root = pathlib.Path.cwd()
    commands = json.loads((options.build / "compile_commands.json").read_text())
    flags = {os.path.relpath(c["file"], root): c["command"] for c in commands}
    sources = Sources(root, (path for path in flags if path.startswith(FOLDERS)))
    common = (root / ".clang-tidy").read_bytes() + subprocess.check_output([TIDY, "--version"])

    def key(path):
        digest = hashlib.sha256(common + flags[path].replace(str(root), "").encode())
        for name in sorted(sources.seen_by(path)):
            digest.update(name.encode() + b"\0" + sources.text(name) + b"\0")
        return digest.hexdigest()

    clean = options.build / "clean"
    clean.mkdir(exist_ok=True)
    chosen = sources.paths
    if not options.all:
        changed = changed_since(options.since)
        if changed is not None and ".clang-tidy" not in changed:
            chosen = affected(sources, changed)
        chosen = [path for path in chosen if not (clean / key(path)).exists()]

    history = options.build / "checked.json"
    last_check = json.loads(history.read_text()) if history.is_file() else {}
    head = "".join(git("rev-parse", "HEAD"))
    chosen.sort(key=lambda path: (last_check.get(path, 0),
                                  hashlib.sha256((head + path).encode()).digest()))

    def check(path):
        if time.monotonic() > deadline:
            return path, None
        stamp = clean / key(path)
        ran = subprocess.run([TIDY, "-quiet", "-p", str(options.build), path],
                             capture_output=True, text=True, check=False)
        if ran.returncode == 0:
            stamp.touch()
        last_check[path] = time.time()
        return path, ran

    log, findings, unclean, left_out = [], set(), 0, 0
    on_terminal = sys.stderr.isatty()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (path, ran) in enumerate(pool.map(check, chosen), 1):
            if on_terminal:
                print(f"\rclang-tidy {done}/{len(chosen)}", end="", file=sys.stderr)
            if ran is None:
                left_out += 1
            elif ran.returncode != 0:
                unclean += 1
                log.append(f"{path}\n{ran.stdout}{ran.stderr}")
                warnings = re.findall(r"^.*(?:warning|error):.*$", ran.stdout, re.M)
                findings.update(warnings or [f"{path}: clang-tidy exited with {ran.returncode}"])
    if on_terminal:
        print(file=sys.stderr)
    history.write_text(json.dumps(last_check, sort_keys=True, indent=1))
    (options.build / "clang-tidy.log").write_text("\n".join(log))
    checked = len(chosen) - left_out
    print("\n".join(sorted(findings)).replace(f"{root}/", "") or
          f"clang-tidy: checked {checked} of {len(sources.paths)} files, all clean")
    if left_out:
        print(f"clang-tidy: the time budget of {options.budget:.0f} s left out {left_out} of "
              f"{len(chosen)} files to check; './dev lint' without a budget checks them all")
    if unclean:
        print(f"clang-tidy: {unclean} of {checked} checked files have findings; the whole log is in "
              f"{options.build}/clang-tidy.log")
    return 1 if unclean else 0


sys.exit(main())
