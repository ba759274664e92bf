"""Installs the program into a folder, moves that, and uses what is there.

Usage: install.py CMAKE SOURCE BUILD CHECK. Exits with 77 where a check needs a program that this
machine has not, and names it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77


def skip_without(program):
    if shutil.which(program) is None:
        print(f"skipped: there is no {program}")
        sys.exit(SKIPPED)


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, timeout=120, **options)


def output_of(*words, **options):
    ran = run(*words, **options)
    assert ran.returncode == 0, f"{words}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


class Installed:
    """The tree where it was moved to, with what it needs to be used."""

    def __init__(self, cmake, source, build, place):
        self.source, self.build, self.place = source, build, place
        output_of(cmake, "--install", build, "--prefix", place / "first")
        (place / "first").rename(place / "moved")
        self.root = place / "moved"
        self.program = self.root / "bin/pipewright"
        self.environment = {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
                            "HOME": str(place), "LANG": "C.UTF-8", "TERM": "dumb"}

    def pipewright(self, *words):
        return output_of(self.program, *words, cwd=self.place, env=self.environment)


def tree(installed):
    library = installed.root / "share/pipewright/platforms"
    source = installed.source / "platforms"
    for folder in ("accuracy", "clusters", "gpus", "models", "nodes", "scenarios", "blocks",
                   "stacks", "sweeps"):
        wanted = {f.name for f in (source / folder).iterdir()
                  if f.suffix in (".csv", ".xml", ".yaml")}
        assert {f.name for f in (library / folder).iterdir()} == wanted, folder
    share = installed.root / "share"
    for name in ("bash-completion/completions/pipewright", "zsh/site-functions/_pipewright",
                 "fish/vendor_completions.d/pipewright.fish", "man/man1/pipewright.1",
                 "doc/pipewright/README.md", "doc/pipewright/LICENSE"):
        assert (share / name).is_file(), name
    assert not list(installed.root.rglob("*_test*")), "tests are not installed"
    check_links(share / "doc/pipewright")


# Checks that links between the installed pages lead to files. Links to folders of the source tree,
# in pages for developers, are not checked.
def check_links(doc):
    for page in [doc / "README.md", *(doc / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if target.endswith((".md", ".png")):
                assert (page.parent / target).is_file(), f"{page.name} links to {target}"


def moved(installed):
    library = installed.root / "share/pipewright/platforms"
    shutil.copy(library / "models/llama-3-8b.yaml", library / "models/only-here.yaml")
    (library / "models/mixtral-8x7b.yaml").unlink()
    assert "only-here" in installed.pipewright("model", "only-here", "--gpu", "h100-sxm")
    gone = run(installed.program, "model", "mixtral-8x7b", cwd=installed.place,
               env=installed.environment)
    assert gone.returncode == 2 and "only-here" in gone.stderr, gone.stderr
    scenario = library / "scenarios/llama-3-70b-h100.yaml"
    table = installed.pipewright("run", scenario, "--engine", "timing", "--schedule", "1f1b",
                                 "--iterations", "1", "--quiet", "-o", "page.html")
    assert "1f1b" in table and (installed.place / "page.html").stat().st_size > 0
    question = (installed.source / "docs/first-steps.md").read_text().splitlines()[2]
    assert question in installed.pipewright("help", "first-steps")


def bash(installed):
    skip_without("bash")
    script = installed.root / "share/bash-completion/completions/pipewright"

    def replies(*words):
        """What bash is given for the last word; it has cut the line at each "=" and ":"."""
        quoted = " ".join(f"'{word}'" for word in words)
        text = output_of("bash", "--norc", "-c", f"""
            source {script}
            complete -p pipewright >/dev/null || exit 1
            COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}
            _pipewright; printf '%s\\n' "${{COMPREPLY[@]}}"
            """, cwd=installed.place, env=installed.environment)
        return text.split()

    check_replies(replies)
    assert replies("pipewright", "comm", "bench", "--op", "=", "all-r") == ["all-reduce"]
    assert replies("pipewright", "run", "--set", "p2p", "=") == ["eager", "rendezvous", "blocking",
                                                                   "steady"]
    (installed.place / "my scenario.yaml").write_text("")
    text = output_of("bash", "--norc", "-c", f"""
        source {script}
        COMP_WORDS=(pipewright run my) COMP_CWORD=2
        _pipewright; printf '%s\\n' "${{COMPREPLY[@]}}"
        """, cwd=installed.place, env=installed.environment)
    assert text == "my scenario.yaml\n", text


def check_replies(replies):
    """Whatever the shell; `replies` gives the words for the last word of a line."""
    assert replies("pipewright", "sched") == ["schedule"]
    assert "frontier" in replies("pipewright", "schedule", "")
    assert replies("pipewright", "run", "--recompute-a") == ["--recompute-activations"]
    assert replies("pipewright", "run", "--cluster", "dgx-h100-h") == ["dgx-h100-hdr200"]
    assert replies("pipewright", "run", "--schedule", "1f1b", "zb-v") == ["zb-v"]
    assert replies("pipewright", "run", "--p2p", "r") == ["rendezvous"]
    assert replies("pipewright", "platform", "make", "--fabric", "dragonfly+") == ["dragonfly+"]
    assert replies("pipewright", "help", "from") == ["from-model-to-launch"]
    assert replies("pipewright", "run", "--num-stages", "3") == []


def fish(installed):
    skip_without("fish")
    script = installed.root / "share/fish/vendor_completions.d/pipewright.fish"

    def lines(*words):
        text = output_of("fish", "--no-config", "-c",
                         f"source {script}; complete -C '{' '.join(words)}'",
                         cwd=installed.place, env=installed.environment)
        return text.splitlines()

    check_replies(lambda *words: [line.split("\t")[0] for line in lines(*words)])
    assert lines("pipewright", "completion", "z") == ["zsh"]
    [described] = lines("pipewright", "run", "--vocab")
    assert described.startswith("--vocab-parallel\tsharding of embedding and output layer"), described


def zsh(installed):
    """Types at a real prompt, and reads what zsh then has on its line."""
    skip_without("zsh")
    functions = installed.root / "share/zsh/site-functions"
    lines = {"pipewright schedule fron\t": "pipewright schedule frontier",
             "pipewright run --cluster dgx-h100-h\t": "--cluster dgx-h100-hdr200",
             "pipewright run --recompute-a\t": "--recompute-activations",
             "pipewright run --set p2p=r\t": "p2p=rendezvous"}
    for typed, wanted in lines.items():
        script = f"""
            zmodload zsh/zpty
            zpty shell "TERM=dumb zsh -f -i"
            zpty -w shell 'PS1=; unset zle_bracketed_paste; fpath=({functions} $fpath)'
            zpty -w shell 'autoload -U compinit; compinit -u -D; print re''ady'
            zpty -r -m shell line '*ready*'
            zpty -n -w shell {shell_quoted(typed)}
            zpty -r -m shell line {shell_quoted('*' + wanted + '*')} && print -r -- "$line"
            zpty -d shell
            """
        begin = time.monotonic()
        text = output_of("zsh", "-f", "-c", script, cwd=installed.place, env=installed.environment)
        assert wanted in text, f"{typed!r}: {text!r} after {time.monotonic() - begin:.1f} s"


def shell_quoted(text):
    return "$'" + text.replace("\t", "\\t") + "'"


def manual(installed):
    page = installed.root / "share/man/man1/pipewright.1"
    text = page.read_text()
    for words in ("schedule frontier", "comm bench", "run", "completion"):
        assert f".SS pipewright {words}\n" in text, words
    assert "\\-\\-recompute\\-activations" in text
    found = False
    if shutil.which("mandoc"):
        found = True
        lint = run("mandoc", "-T", "lint", page)
        assert lint.stdout + lint.stderr == "", lint.stdout
    if shutil.which("groff"):
        found = True
        lint = run("groff", "-ww", "-man", "-K", "utf8", "-T", "utf8", page)
        assert lint.returncode == 0 and lint.stderr == "", lint.stderr
    if not found:
        print("skipped: there is neither mandoc nor groff")
        sys.exit(SKIPPED)


def package(installed):
    for program in ("cpack", "dpkg-deb", "dpkg-shlibdeps"):
        skip_without(program)
    output_of("cpack", "-G", "DEB", "-B", installed.place / "debs", cwd=installed.build)
    files = sorted((installed.place / "debs").glob("*.deb"))
    [file] = [file for file in files if file.name.startswith("pipewright_")]
    control = output_of("dpkg-deb", "-f", file)
    for line in ("Package: pipewright\n", "Section: science\n"):
        assert line in control, control
    depends = re.search(r"^Depends: (.*)$", control, re.M).group(1)
    for library in ("libc6", "libstdc++6", "libhdf5", "libsimgrid", "libcairo2"):
        assert library in depends, depends
    assert "mpi" not in depends, depends
    root = installed.place / "root"
    output_of("dpkg-deb", "-x", file, root)
    assert output_of(root / "usr/bin/pipewright", "--version", cwd=installed.place,
                     env=installed.environment).startswith("pipewright ")
    assert (root / "usr/share/pipewright/platforms/clusters/dgx-h100.xml").is_file()
    for other in files:
        if other.name.startswith("pipewright-mpi_"):
            assert "libopenmpi" in output_of("dpkg-deb", "-f", other, "Depends")


def main():
    cmake, source, build, check = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="pipewright-install-") as place:
        installed = Installed(cmake, pathlib.Path(source), pathlib.Path(build),
                              pathlib.Path(place).resolve())
        checks = {f.__name__: f for f in (tree, moved, bash, zsh, fish, manual, package)}
        checks[check](installed)
        print(f"{check}: right")


main()
