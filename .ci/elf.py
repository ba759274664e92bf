"""What an ELF file of x86-64 needs from the system that runs it, and the wheel tag that follows.

A file may need only the libraries of glibc: everything else is linked into it. The tag names the
newest version of glibc whose symbols a file uses, as PEP 600 says and auditwheel does.
"""

import re
import struct

# Every distribution with glibc has these.
LIBRARIES_OF_GLIBC = {"ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libm.so.6",
                      "libpthread.so.0", "librt.so.1"}
OLDEST_GLIBC = 17  # manylinux2014: installers of Python 3.11 look for no older tag
DYNAMIC, LOAD = 2, 1
NEEDED, STRING_TABLE, RPATH, RUNPATH = 1, 5, 15, 29
VERSIONS_NEEDED, VERSIONS_NEEDED_COUNT = 0x6ffffffe, 0x6fffffff


class Needs:
    """Libraries, versions of their symbols and search paths that a file needs."""

    def __init__(self, data):
        self.libraries, self.versions, self.paths = [], [], []
        offset, = struct.unpack_from("<Q", data, 0x20)
        size, count = struct.unpack_from("<HH", data, 0x36)
        segments = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
        self.loads = [(address, place, length) for kind, _, place, address, _, length in segments
                      if kind == LOAD]
        for kind, _, place, _, _, length in segments:
            if kind == DYNAMIC:
                self.read_dynamic(data, place, length)

    def place_of(self, address):
        for start, place, length in self.loads:
            if start <= address < start + length:
                return address - start + place
        raise ValueError(f"address {address:#x} is in no segment")

    def read_dynamic(self, data, place, length):
        entries = list(struct.iter_unpack("<QQ", data[place:place + length // 16 * 16]))
        values = dict(entries)
        strings = self.place_of(values[STRING_TABLE])

        def text(offset):
            start = strings + offset
            return data[start:data.index(b"\0", start)].decode()

        self.libraries = [text(value) for tag, value in entries if tag == NEEDED]
        self.paths = [text(value) for tag, value in entries if tag in (RPATH, RUNPATH)]
        if VERSIONS_NEEDED not in values:
            return
        at = self.place_of(values[VERSIONS_NEEDED])
        for _ in range(values[VERSIONS_NEEDED_COUNT]):
            _, count, _, first, step = struct.unpack_from("<HHIII", data, at)
            symbol = at + first
            for _ in range(count):
                _, _, _, name, next_symbol = struct.unpack_from("<IHHII", data, symbol)
                self.versions.append(text(name))
                symbol += next_symbol
            at += step


def needs_of(path):
    """The needs of an ELF file; None for another file."""
    data = path.read_bytes()
    return Needs(data) if data[:6] == b"\x7fELF\x02\x01" else None


def platform_tags(files):
    """Tags of a wheel with these files; raises ValueError if a file needs more than glibc."""
    oldest, is_static = OLDEST_GLIBC, True
    for path in files:
        needs = needs_of(path)
        if needs is None:
            continue
        foreign = sorted(set(needs.libraries) - LIBRARIES_OF_GLIBC)
        if foreign:
            raise ValueError(f"{path} needs {', '.join(foreign)}, which not every system has")
        if any(not p.startswith("$ORIGIN") for path in needs.paths for p in path.split(":")):
            raise ValueError(f"{path} looks for libraries in {', '.join(needs.paths)}")
        is_static = is_static and not needs.libraries
        for version in needs.versions:
            match = re.fullmatch(r"GLIBC_2\.(\d+)(\.\d+)?", version)
            if match is None:
                raise ValueError(f"{path} needs {version}")
            oldest = max(oldest, int(match[1]))
    tags = [f"manylinux_2_{oldest}_x86_64"]
    if oldest == OLDEST_GLIBC:
        tags.append("manylinux2014_x86_64")
    if is_static:
        tags.append("musllinux_1_1_x86_64")  # a static program needs no C library
    return tags
