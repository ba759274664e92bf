"""Makes the packages of a static build: a wheel, a tarball and a .deb, which run on any Linux.

usage: package.py BUILD FOLDER

BUILD is the build folder of the preset `package`. Prints the size of each package, and fails if a
package is larger than 15 MB or a file of it needs more than glibc. The same build gives the same
bytes.
"""

import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile

import elf

MAX_BYTES = 15_000_000
ROOT = pathlib.Path(__file__).resolve().parent.parent


def output_of(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, text=True,
                          stdout=subprocess.PIPE, **options).stdout


def install(build, component, prefix):
    output_of("cmake", "--install", build, "--component", component, "--prefix", prefix, "--strip")


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def metadata(project, version):
    """The core metadata of the wheel, from pyproject.toml."""
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}", f"License: {project['license']['text']}",
             f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {name}" for name in project["classifiers"]]
    lines += [f"Requires-Dist: {need}" for need in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {need}; extra == '{extra}'" for need in needs]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / project["readme"]).read_text()]
    return "\n".join(lines)


def write_wheel(package, version, folder):
    """A wheel of the installed Python package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tags = elf.platform_tags(files_of(package))
    information = f"pipewright-{version}.dist-info"
    entries = [(f"pipewright/{path.relative_to(package)}", path.read_bytes(), path.stat().st_mode)
               for path in files_of(package)]
    wheel = "Wheel-Version: 1.0\nGenerator: pipewright\nRoot-Is-Purelib: false\n" + \
        "".join(f"Tag: py3-none-{tag}\n" for tag in tags)
    for name, text in (("METADATA", metadata(project, version)), ("WHEEL", wheel)):
        entries.append((f"{information}/{name}", text.encode(), 0o100644))
    command = ROOT / ".ci/wheel_command.py"
    entries.append((f"pipewright-{version}.data/scripts/pipewright", command.read_bytes(),
                    0o100755))
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for name, data, _ in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        rows.writerow((name, f"sha256={digest}", len(data)))
    rows.writerow((f"{information}/RECORD", "", ""))
    entries.append((f"{information}/RECORD", record.getvalue().encode(), 0o100644))
    path = folder / f"pipewright-{version}-py3-none-{'.'.join(tags)}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, mode in entries:
            entry = zipfile.ZipInfo(name)  # of 1980, the first year of the format
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if mode & 0o100 else 0o100644) << 16
            archive.writestr(entry, data)
    return path


def write_tarball(tree, version, folder):
    """A tarball of the installed tree, which unpacks without more programs than tar and gzip."""
    elf.platform_tags(files_of(tree))
    name = f"pipewright-{version}-linux-x86_64"

    def without_owner(entry):
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = "root"
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    path = folder / f"{name}.tar.gz"
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for file in files_of(tree):
            archive.add(file, f"{name}/{file.relative_to(tree)}", filter=without_owner)
    path.write_bytes(output_of_gzip(data.getvalue()))
    return path


def output_of_gzip(data):
    return subprocess.run(["gzip", "-9n"], input=data, stdout=subprocess.PIPE, check=True).stdout


def write_deb(build, folder):
    with tempfile.TemporaryDirectory() as place:
        output_of("cpack", "-G", "DEB", "-B", place, cwd=build,
                  env=os.environ | {"SOURCE_DATE_EPOCH": "315532800"})
        [file] = pathlib.Path(place).glob("pipewright_*.deb")
        return pathlib.Path(shutil.copy(file, folder))


def main():
    build, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    version = re.search(r"project\(pipewright VERSION ([\d.]+)",
                        (ROOT / "CMakeLists.txt").read_text())[1]
    with tempfile.TemporaryDirectory(prefix="pipewright-package-") as place:
        place = pathlib.Path(place)
        install(build, "python", place / "wheel")
        install(build, "pipewright", place / "tree")
        made = [write_wheel(place / "wheel", version, folder),
                write_tarball(place / "tree", version, folder)]
    if shutil.which("dpkg-deb"):
        made.append(write_deb(build, folder))
    for path in made:
        print(f"{path.stat().st_size / 1e6:5.1f} MB  {path}")
    too_large = [path.name for path in made if path.stat().st_size > MAX_BYTES]
    if too_large:
        sys.exit(f"package: larger than {MAX_BYTES / 1e6:.0f} MB: {', '.join(too_large)}")


main()
