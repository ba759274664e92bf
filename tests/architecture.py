"""Checks the include lines of every folder against the arrows that the design allows.

Between folders: ALLOWED. Inside a folder arrows run one way as well: of files (x.hpp and x.cpp are
one) and of rooms (the folder itself and those in it) none is above itself. And every test is built,
and no type defined twice.
"""

import pathlib
import re
import sys

# folder: (project folders that it may include besides itself, library headers that are its own)
ALLOWED = {
    "modules": ((), ("fmt/",)),
    "schedules": ((), ("fmt/",)),
    "analysis/trace": (("modules",), ("fmt/", "hdf5", "H5", "zlib", "nlohmann/")),
    "analysis/report": (
        ("modules", "analysis/trace"),
        ("fmt/", "hdf5", "H5", "zlib", "cairo", "nlohmann/"),
    ),
    "analysis/hdf5": (("modules", "analysis/trace", "analysis/report"), ()),
    "analysis/measured": (("analysis/trace", "analysis/report"), ("fmt/", "zlib", "nlohmann/")),
    "analysis/commlogs": (
        ("analysis/trace", "analysis/report", "analysis/measured"),
        ("fmt/", "nlohmann/"),
    ),
    "analysis/web": (
        ("analysis/trace", "analysis/report", "analysis/measured", "analysis/commlogs"),
        ("fmt/", "zlib", "nlohmann/"),
    ),
    "sim/base": ((), ("fmt/", "nlohmann/json_fwd.hpp")),
    "sim/config": (("sim/base", "schedules"), ("fmt/", "nlohmann/", "yaml-cpp/")),
    "sim/process": ((), ("fmt/", "nlohmann/")),
    "sim/jobs": (("schedules", "sim/base", "sim/config"), ("fmt/", "nlohmann/", "toml++/")),
    "sim/workload": (("sim/base", "sim/config", "schedules"), ("fmt/",)),
    "sim/cluster": (
        ("sim/base", "sim/config", "sim/process"),
        ("fmt/", "nlohmann/", "simgrid/", "xbt/", "pugixml"),
    ),
    "sim/execution": (
        ("modules", "schedules", "sim/base", "sim/workload", "sim/cluster", "analysis/trace"),
        ("fmt/",),
    ),
    "sim/evaluation": (
        (
            "schedules",
            "analysis",
            "sim/base",
            "sim/config",
            "sim/process",
            "sim/workload",
            "sim/cluster",
            "sim/execution",
            "sim/comm",
        ),
        ("fmt/", "nlohmann/"),
    ),
    "sim/comm": (
        ("analysis", "sim/config", "sim/workload", "sim/cluster", "sim/execution"),
        ("fmt/", "Eigen/", "unsupported/Eigen/"),
    ),
    "sim/goodput": (
        (
            "modules",
            "analysis",
            "sim/base",
            "sim/config",
            "sim/process",
            "sim/workload",
            "sim/cluster",
            "sim/execution",
            "sim/evaluation",
        ),
        ("fmt/", "nlohmann/", "simgrid/"),
    ),
    "sim/sweep": (("schedules", "analysis", "sim/base", "sim/config"), ("fmt/", "nlohmann/")),
    "sim/search": (
        (
            "schedules",
            "analysis",
            "sim/base",
            "sim/config",
            "sim/process",
            "sim/workload",
            "sim/sweep",
        ),
        ("fmt/", "nlohmann/"),
    ),
    "sim/worker": (
        (
            "analysis",
            "sim/config",
            "sim/process",
            "sim/cluster",
            "sim/execution",
            "sim/evaluation",
            "sim/goodput",
            "sim/sweep",
            "sim/search",
        ),
        ("fmt/", "nlohmann/"),
    ),
    "sim/serve": (
        (
            "schedules",
            "analysis",
            "sim/base",
            "sim/config",
            "sim/cluster",
            "sim/process",
            "sim/evaluation",
            "sim/jobs",
        ),
        ("fmt/", "nlohmann/", "boost/"),
    ),
    "sim/mpi": (
        ("sim/process", "sim/search"),
        ("fmt/", "nlohmann/", "mpi.h"),
    ),
    "sim/cli": (
        (
            "schedules",
            "analysis",
            "sim/base",
            "sim/config",
            "sim/process",
            "sim/workload",
            "sim/cluster",
            "sim/execution",
            "sim/comm",
            "sim/evaluation",
            "sim/goodput",
            "sim/sweep",
            "sim/search",
            "sim/worker",
            "sim/serve",
            "sim/jobs",
            "sim/mpi",
        ),
        ("fmt/", "nlohmann/", "boost/", "mpi.h"),
    ),
    "python": (
        ("schedules", "analysis", "sim"),
        ("fmt/", "nlohmann/", "pybind11/"),
    ),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
STANDARD = re.compile(r"^[a-z0-9_]+(\.h)?$|^sys/[a-z]+\.h$")


def violations(root, folder, may_include, libraries):
    for path in sorted((root / folder).rglob("*.[ch]pp")):
        for bracket, name in INCLUDE.findall(path.read_text()):
            if bracket == '"':
                allowed = any(name.startswith(f"{f}/") for f in (folder, *may_include))
            else:
                allowed = STANDARD.match(name) or name.startswith(libraries)
                if STANDARD.match(name) and name.startswith(("hdf5", "zlib")):
                    allowed = name.startswith(libraries)
            if not allowed:
                yield f"{path.relative_to(root)} may not include {name}"


def circles(arrows):
    """The sets of nodes of which each leads to all others (Tarjan 1972)."""
    order, lowest, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(arrows.get(node, ())):
            if other not in order:
                visit(other)
            if other in stack:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == order[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(arrows):
        if node not in order:
            visit(node)
    return [circle for circle in found if len(circle) > 1]


def circles_in(root, folder):
    """Circles of the folder's files, and of its rooms."""
    files, rooms = {}, {}
    for path in sorted((root / folder).rglob("*.[ch]pp")):
        one = path.relative_to(root).with_suffix("")
        for bracket, name in INCLUDE.findall(path.read_text()):
            other = pathlib.PurePath(name).with_suffix("")
            if bracket != '"' or not name.startswith(f"{folder}/"):
                continue
            for arrows, source, target in ((files, one, other), (rooms, one.parent, other.parent)):
                if source != target:
                    arrows.setdefault(str(source), set()).add(str(target))
    return circles(files) + circles(rooms)


def unlisted_tests(root):
    """Tests that no CMakeLists.txt names are never run."""
    listed = set()
    for cmake in (root / "tests").rglob("CMakeLists.txt"):
        names = re.findall(r"[\w/]+_test\.cpp", cmake.read_text())
        listed.update(cmake.parent / name for name in names)
    for path in sorted((root / "tests").rglob("*_test.cpp")):
        if path not in listed:
            yield f"{path.relative_to(root)} is in no CMakeLists.txt, so it is never run"


OPENS = re.compile(r"^namespace ([\w:]+) \{", re.M)
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)[^;(]*?\{", re.M)


def defined_twice(root):
    """Types of one name in one namespace: a linker keeps one of them, and says nothing."""
    places = {}
    for folder in ALLOWED:
        for path in sorted((root / folder).rglob("*.hpp")):
            text = path.read_text()
            space = OPENS.search(text)
            for name in TYPE.findall(text):
                key = f"{space[1] if space else ''}::{name}"
                places.setdefault(key, set()).add(str(path.relative_to(root)))
    for name, paths in sorted(places.items()):
        if len(paths) > 1:
            yield f"{name} is defined in {' and in '.join(sorted(paths))}"


def main():
    root = pathlib.Path(sys.argv[1])
    found = [v for f, (folders, libs) in ALLOWED.items() for v in violations(root, f, folders, libs)]
    found += [
        f"{folder}: these include each other in a circle: {', '.join(circle)}"
        for folder in ALLOWED
        for circle in circles_in(root, folder)
    ]
    found += unlisted_tests(root)
    found += defined_twice(root)
    covered = sum(len(list((root / folder).rglob("*.[ch]pp"))) for folder in ALLOWED)
    if covered < 50:
        found.append(f"only {covered} files were found: the folders have moved")
    print("\n".join(found) or f"{covered} files keep to the design's arrows")
    return 1 if found else 0


sys.exit(main())
