"""Tries the packages in a bare system of each release of Debian, without network.

usage: try_packages.py PACKAGES SYSTEMS REFERENCE [--write PAGE]

PACKAGES is the folder of package.py's packages. SYSTEMS is a folder for the bare systems, which
debootstrap makes once (it needs root and a mirror). REFERENCE is the program of the build, whose
JSON and output the packages must repeat byte for byte. The examples are those of README.md. --write
puts the table of sizes, start-up times and systems into the page.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASES = {"bullseye": "Debian 11", "bookworm": "Debian 12", "trixie": "Debian 13"}
# Python with venv, and numpy, which pip cannot fetch without network.
EXTRA_PACKAGES = "python3,python3-venv,python3-numpy"
BLOCK = re.compile(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n((?:(?!```).*\n)*)```\n")
# Several workers share the candidates in an order that varies, so the search has a single worker.
JSON_COMMANDS = {"run.json": "pipewright run llama.yaml --json",
                 "why.json": "pipewright why llama.h5 --json",
                 "search.json": "pipewright search sweep.yaml --jobs 1 --json"}
STARTS = 20
NOTEBOOK_CELLS = 3  # of picking-a-layout: up to the best candidate
OLDEST_PYTHON = (3, 11)
TABLE = re.compile(r"(<!-- packages: \./dev package -->\n\n)(?:\|.*\n)+")


def examples():
    """The files and commands of README.md's three examples, and a script that runs them."""
    text = (ROOT / "README.md").read_text()
    [section] = re.findall(r"^## Three examples\n(.*?)^## ", text, re.S | re.M)
    files, commands = {}, []
    for name, language, body in BLOCK.findall(section):
        if name:
            files[name] = body
        elif language == "console":
            commands += re.findall(r"^\$ (.*)$", body, re.M)
    script = [f"{command} >>console.txt 2>&1" for command in commands]
    script += [f"{command} >{name}" for name, command in JSON_COMMANDS.items()]
    return files, "set -e\n" + "\n".join(script) + "\n"


def notebook():
    """The cells of the notebook that go from a config.json to the best layout, as a script."""
    cells = json.loads((ROOT / "python/notebooks/picking-a-layout.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return "\n".join(code[:NOTEBOOK_CELLS]) + "\n"


class Trial:
    """A bare system whose changes are lost after each script. /trial outlives them."""

    def __init__(self, system, packages, place):
        self.system, self.place = system, place
        self.home = place / "home"
        self.home.mkdir()
        files, script = examples()
        for name, text in (files | {"examples": script, "notebook.py": notebook()}).items():
            (self.home / name).write_text(text)
        for path in packages:
            shutil.copy(path, self.home)

    def bash(self, script):
        return self.run("/bin/bash", "-c", "set -e; cd /trial; " + script)

    def run(self, *command):
        """Runs a command in the system, without network, and returns what it printed."""
        mount_point = self.place / "mount"
        mount_point.mkdir(exist_ok=True)
        ran = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "bash", "-c", ENTER,
                              "bash", mount_point, self.system, self.home, *command],
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             check=False)
        if ran.returncode != 0:
            raise RuntimeError(f"{self.system.name}: {' '.join(command)}: {ran.stdout[-3000:]}")
        return ran.stdout


# Enters a system: folder for mounts, system, folder that becomes /trial, command.
ENTER = """set -e
mount -t tmpfs none "$1"
mkdir "$1"/up "$1"/work "$1"/root
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/up,workdir=$1/work" "$1/root"
mkdir -p "$1"/root/trial "$1"/root/proc "$1"/root/dev/shm "$1"/root/tmp
mount --bind "$3" "$1/root/trial"
mount -t proc none "$1/root/proc"
mount -t tmpfs none "$1/root/dev/shm"
chmod 1777 "$1/root/tmp"
exec chroot "$1/root" "${@:4}"
"""


def in_folder(name, path, install):
    """A script that installs as a user without rights, repeats the examples and times starts."""
    return f"""mkdir {name}; cp *.yaml examples notebook.py {name}; chown -R 1000:1000 {name}
cd {name}; export HOME=/trial/{name} PATH={path}:$PATH TIMEFORMAT=%R
READER='setpriv --reuid=1000 --regid=1000 --clear-groups'
{install}
$READER bash examples
for i in 1 2 3; do $READER pipewright --version >/dev/null; done
time (for i in $(seq {STARTS}); do $READER pipewright --version >/dev/null; done)
"""


def start_ms(printed):
    return float(re.findall(r"^(\d+\.\d+)$", printed, re.M)[-1]) / STARTS * 1000


# Each trial returns the time of a start in milliseconds, and what its cell of the table says.
def try_tarball(trial):
    script = in_folder("tarball", "$(echo /trial/tarball/pipewright-*-linux-*/bin)", "")
    unpack = "$READER tar xf ../pipewright-*.tar.gz; export"
    return start_ms(trial.bash(script.replace("export", unpack))), "runs"


def try_deb(trial):
    install = "dpkg -i ../pipewright_*.deb"
    return start_ms(trial.bash(in_folder("deb", "/usr/bin", install))), "runs"


def try_wheel(trial):
    python = tuple(int(word) for word in trial.bash(
        "python3 -c 'import sys; print(*sys.version_info[:2])'").split())
    if python < OLDEST_PYTHON:
        return None, f"Python {python[0]}.{python[1]} is too old"
    printed = trial.bash(in_folder("wheel", "/trial/wheel/env/bin", """SECONDS=0
$READER python3 -m venv --system-site-packages env
$READER env/bin/pip install --no-index ../pipewright-*.whl
$READER env/bin/python notebook.py >notebook.txt
echo "layout after $SECONDS s"
"""))
    [seconds] = re.findall(r"^layout after (\d+) s$", printed, re.M)
    return start_ms(printed), f"runs; installed, and a layout found, in {seconds} s"


def try_nothing(place, packages, reference):
    """The tarball in a system without any file."""
    (place / "system").mkdir(parents=True)
    trial = Trial(place / "system", [], place)
    [tarball] = [path for path in packages if path.name.endswith(".tar.gz")]
    subprocess.run(["tar", "-xf", tarball, "-C", trial.home], check=True)
    [program] = trial.home.glob("pipewright-*/bin/pipewright")
    printed = trial.run(f"/trial/{program.relative_to(trial.home)}", "run", "/trial/llama.yaml",
                        "--json")
    if printed != (reference / "run.json").read_text():
        raise RuntimeError(f"an empty system: the JSON differs: {printed[:1000]}")
    print("an empty system\n  tarball: same bytes as the build", flush=True)


def check(results, reference):
    for name in [*JSON_COMMANDS, "console.txt"]:
        if (results / name).read_bytes() != (reference / name).read_bytes():
            raise RuntimeError(f"{results / name} differs from {reference / name}")


def make_system(systems, release):
    """The folder of a bare system, made once; None if it cannot be made."""
    system = systems / release
    done = systems / f"{release}.done"
    if not done.exists():
        shutil.rmtree(system, ignore_errors=True)
        made = subprocess.run(["debootstrap", "--variant=minbase", f"--include={EXTRA_PACKAGES}",
                               release, system], check=False, stdout=subprocess.DEVNULL)
        if made.returncode != 0:
            return None
        done.touch()
    return system


def run_reference(program, place):
    place.mkdir()
    files, script = examples()
    for name, text in files.items():
        (place / name).write_text(text)
    subprocess.run(["bash", "-c", script], cwd=place, check=True,
                   env={"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": str(place)})


def table(packages, rows):
    lines = ["| package | size | start | " + " | ".join(RELEASES.values()) + " |",
             "|---|---:|---:|" + "---|" * len(RELEASES)]
    for kind, pattern in PACKAGES.items():
        [path] = packages.glob(pattern)
        starts = [start for start, _ in rows[kind].values() if start]
        cells = [f"{path.stat().st_size / 1e6:.1f} MB", f"{max(starts):.0f} ms" if starts else "",
                 *(cell for _, cell in rows[kind].values())]
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


PACKAGES = {"wheel": "pipewright-*.whl", "tarball": "pipewright-*.tar.gz", "deb": "pipewright_*.deb"}
TRIALS = {"wheel": try_wheel, "tarball": try_tarball, "deb": try_deb}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("systems", type=pathlib.Path)
    parser.add_argument("reference", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    words = parser.parse_args()
    words.systems.mkdir(parents=True, exist_ok=True)
    files = [path.resolve() for pattern in PACKAGES.values() for path in words.packages.glob(pattern)]
    rows = {kind: {} for kind in PACKAGES}
    with tempfile.TemporaryDirectory(prefix="pipewright-trial-") as place:
        place = pathlib.Path(place)
        run_reference(words.reference.resolve(), place / "reference")
        try_nothing(place / "empty", files, place / "reference")
        for release, title in RELEASES.items():
            print(f"{title}: making the system" if not (words.systems / f"{release}.done").exists()
                  else title, flush=True)
            system = make_system(words.systems.resolve(), release)
            if system is None:
                print("  not tried, since debootstrap cannot make it", flush=True)
                for kind in PACKAGES:
                    rows[kind][release] = (None, "not tried")
                continue
            trial_place = place / release
            trial_place.mkdir()
            trial = Trial(system, files, trial_place)
            for kind, run_trial in TRIALS.items():
                start, cell = rows[kind][release] = run_trial(trial)
                if start is not None:
                    check(trial.home / kind, place / "reference")
                    cell += f"; same bytes as the build; starts in {start:.0f} ms"
                print(f"  {kind}: {cell}", flush=True)
    text = table(words.packages, rows)
    print(text, end="")
    if words.write:
        page = words.write.read_text()
        if not TABLE.search(page):
            sys.exit(f"{words.write} has no table of packages")
        words.write.write_text(TABLE.sub(lambda match: match[1] + text, page))


main()
