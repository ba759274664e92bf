"""Compares the reader of shell scripts with bash.

usage: bash_comparison.py PROGRAM FOLDER.. [--list] [--expect-equal] [--only=TEXT] [NAME=VALUE..]

Every *.sh, *.slurm and *.sbatch file below the folders is read twice by
`PROGRAM import FILE --print-command`: by the program's own reader, and with --run-with-bash, where
bash runs the script in a sandbox and programs are replaced by recorders of their words. The words
which the training command receives are compared:

equal        the same words. Values that the reader calls unknown match any text, unset variables
             match nothing.
refused      the reader gives an error, or names what it could not follow, and the words differ.
wrong        the words differ, and the reader says nothing.
no training  bash starts no command with flags of a training.

--list prints each file that is not equal, with the reason. --expect-equal fails if any file is not
equal; without it, the script fails if any file is wrong. --only leaves out files without the text,
a regular expression. NAME=VALUE is passed to both. The script ends with status 77, and a message,
where the system gives no namespaces.
"""

import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ENDINGS = {".sh", ".slurm", ".sbatch"}
SKIPPED = 77
NO_NAMESPACES = "needs namespaces"


def read(program, folder, file, more):
    """Returns the command line of a script, and what the program prints as messages. Scripts may
    source files below the folder."""
    done = subprocess.run(
        [program, "import", str(file.relative_to(folder)), "--print-command", *more],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )
    return (done.stdout.strip("\n") if done.returncode == 0 else None), done.stderr.strip()


def expression(parsed):
    """Regular expression for words, each followed by a zero byte."""
    pattern = ""
    for word in parsed:
        if all(kind == "unset" for kind, _ in word):
            continue  # a shell drops the word
        text = "".join(
            re.escape(part) if kind == "known" else ANY if kind == "running" else ""
            for kind, part in word
        )
        # Bash may name the folder itself where the reader knows the way up from it.
        text = re.sub(re.escape(ANY) + r"(/\\\.\\\.)+", lambda _: ANY, text)
        # The output of a command that is empty, without quotes, is no word either.
        pattern += f"(?:{text}\0)?" if text == ANY else f"{text}\0"
    return pattern


ANY = "[^\0]*?"


def split(line):
    """Words of a command line, each as parts: known text, running (any text), empty (an unset
    variable in quotes) and unset (an unset variable without quotes)."""
    result, at, word = [], 0, []
    while at < len(line):
        c = line[at]
        if c == " ":
            result.append(word)
            word = []
            at += 1
        elif c == "'":
            end = line.index("'", at + 1)
            word.append(("known", line[at + 1 : end]))
            at = end + 1
        elif c == '"':
            end = closing(line, at)
            inside = line[at + 1 : end]
            word.append(("running" if is_running(inside) else "empty", inside))
            at = end + 1
        elif c == "$":
            end = re.match(r"\$\{.*?\}|\$[^ ]*", line[at:]).end() + at
            word.append(("unset", line[at:end]))
            at = end
        else:
            text = line[at + 1] if c == "\\" else c
            word.append(("known", text))
            at += 2 if c == "\\" else 1
    return [*result, word]


def closing(line, at):
    """Position of the double quote that ends an unknown value at `at`: the last one before a blank
    that leaves the quotes of the rest balanced."""
    depth, at = 0, at + 1
    while at < len(line):
        if line[at] in "({":
            depth += 1
        elif line[at] in ")}":
            depth -= 1
        elif line[at] == '"' and depth <= 0:
            return at
        at += 1
    return line.rindex('"')


RUNNING = {"HOME", "USER", "LOGNAME", "PWD", "OLDPWD", "HOSTNAME", "RANDOM", "SECONDS", "UID", "EUID"}
RUNNING |= {"PPID", "PATH", "SHELL", "BASHPID", "OSTYPE", "EPOCHSECONDS", "HOSTTYPE", "LINENO", "$", "!"}


def is_running(text):
    return text.startswith(("$(", "`", "<", "$$", "$!")) or text.strip("${}").split("[")[0] in RUNNING


def words(line):
    """Words of a command line that has no unknown values, each followed by a zero byte."""
    return "".join("".join(part for _, part in word) + "\0" for word in split(line))


def compare(program, folder, file, more):
    """Returns the outcome and its reason."""
    recorded, message = read(program, folder, file, ["--run-with-bash", *more])
    if NO_NAMESPACES in message:
        return "skipped", message
    line, reason = read(program, folder, file, more)
    if recorded is None:
        return "no training", f"{message}; here: {line or reason}"
    if line is None:
        return "refused", reason
    found = words(recorded)
    parsed = split(line)
    # The launcher may stand behind programs that start it, such as nohup or exec.
    if any(re.fullmatch(expression(parsed), found[at:]) for at in starts(found)) or any(
        re.fullmatch(expression(parsed[first:]), found)
        for first in range(min(len(parsed), MOST_LAUNCHER_WORDS))
    ):
        return "equal", ""
    difference = first_difference(parsed, found)
    return ("refused" if reason else "wrong"), f"{reason}\n    {difference}"


def starts(found):
    """Places at which words begin, of the first words."""
    return [0, *(match.end() for match in list(re.finditer("\0", found))[:MOST_LAUNCHER_WORDS])][:-1] or [0]


MOST_LAUNCHER_WORDS = 20


def first_difference(parsed, found):
    """The first place at which words differ, if both begin alike."""
    ours = [word for word in parsed if expression([word])]
    bash = found.split("\0")[:-1]
    for i, (word, text) in enumerate(zip(ours, bash)):
        if not re.fullmatch(expression([word]), text + "\0"):
            shown = ["".join(part for _, part in each) for each in ours[max(i - 1, 0) : i + 2]]
            return f"word {i}: {shown} here, {bash[max(i - 1, 0) : i + 2]} by bash"
    return f"{len(ours)} words here, {len(bash)} by bash"


def main(arguments):
    listed = "--list" in arguments
    strict = "--expect-equal" in arguments
    only = next((word[7:] for word in arguments if word.startswith("--only=")), "")
    arguments = [word for word in arguments if not word.startswith("--")]
    more = [word for word in arguments[1:] if re.match(r"\w+=", word)]
    program = str(pathlib.Path(arguments[0]).resolve())
    folders = [pathlib.Path(word) for word in arguments[1:] if word not in more]
    files = sorted(
        (folder.resolve(), file)
        for folder in folders
        for file in folder.resolve().rglob("*")
        if file.suffix in ENDINGS and file.is_file() and re.search(only, file.read_text(errors="replace"))
    )
    if not files:
        print(f"no scripts below {', '.join(map(str, folders))}")
        return 2
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda place: compare(program, *place, more), files))
    if any(outcome == "skipped" for outcome, _ in outcomes):
        print(f"skipped: {next(reason for outcome, reason in outcomes if outcome == 'skipped')}")
        return SKIPPED
    for (_, file), (outcome, reason) in zip(files, outcomes):
        if outcome == "wrong" or (outcome != "equal" and (strict or listed)):
            print(f"{outcome}: {file}: {reason}")
    counts = {name: sum(o == name for o, _ in outcomes) for name in ("equal", "refused", "wrong", "no training")}
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return 1 if counts["wrong"] or (strict and counts["equal"] < len(files)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
