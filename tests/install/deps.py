"""Builds a library of the test's own with .ci/deps, from a folder of tarballs.

Usage: deps.py SOURCE [PREFIX]. PREFIX is where libraries of this build come from, if not from the
system.
"""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

LISTS = """cmake_minimum_required(VERSION 3.25)
project(json LANGUAGES NONE)
file(WRITE ${CMAKE_BINARY_DIR}/here "")
install(FILES ${CMAKE_BINARY_DIR}/here DESTINATION share)
"""


def write_tarball(path):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place, "json")
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(LISTS)
        with tarfile.open(path, "w:gz") as tar:
            tar.add(folder, "json")


def main():
    source = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="pipewright-deps-") as place:
        place = pathlib.Path(place)
        tarballs = place / "tarballs"
        tarballs.mkdir()
        environment = dict(os.environ, PIPEWRIGHT_SOURCES=str(tarballs),
                           CMAKE_PREFIX_PATH=":".join(sys.argv[2:]))

        def deps(*words):
            ran = subprocess.run([source / ".ci/deps", *words], env=environment, text=True,
                                 capture_output=True, check=False, timeout=200)
            return ran.returncode, ran.stdout + ran.stderr

        prefix = str(place / "prefix")
        status, said = deps("--prefix", prefix, "--static")
        assert status == 1 and "has neither fmt-" in said, said
        status, said = deps("json")
        assert status == 1 and "into which folder?" in said, said
        status, said = deps("--prefix", prefix, "jason")
        assert status == 1 and "no library is called jason" in said and " simgrid " in said, said

        status, said = deps("--prefix", prefix, "json")
        assert status == 1 and "has neither json-" in said, said

        [row] = [line.split() for line in (source / ".ci/sources").read_text().splitlines()
                 if line.startswith("json ")]
        released = tarballs / f"json-{row[1]}.tar.gz"
        write_tarball(released)
        status, said = deps("--prefix", prefix, "json")
        assert status == 1 and f"its SHA-256 is not {row[4]}" in said, said

        released.rename(tarballs / "json-0.1.tar.gz")
        status, said = deps("--prefix", prefix, "json")
        assert status == 0 and "json-0.1.tar.gz is taken as it is" in said, said
        assert (place / "prefix/share/here").is_file()
        assert "all libraries are there" in said, said


main()
