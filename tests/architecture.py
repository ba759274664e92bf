"""Checks that includes and imports run one way, as the design says.

Folders of C++ include only the folders and libraries that ALLOWED lists. Inside a folder neither
files (x.hpp and x.cpp count as one) nor subfolders may include each other in a circle. The modules
of the Python package may not import each other in a circle either; imports inside functions and
those for type checkers count. Two more checks: every test is built, and no type is defined twice.
"""

import ast
import pathlib
import re
import sys

# Key: folder. Value: the other project folders that it may include, and the prefixes of library
# headers that it may include.
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
    "sim/rl": (
        (
            "analysis",
            "sim/base",
            "sim/config",
            "sim/process",
            "sim/workload",
            "sim/cluster",
            "sim/execution",
            "sim/comm",
            "sim/evaluation",
        ),
        ("fmt/", "nlohmann/"),
    ),
    "sim/sites": (
        ("analysis", "sim/base", "sim/config", "sim/workload", "sim/goodput"),
        ("fmt/",),
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
            "sim/rl",
            "sim/sites",
            "sim/sweep",
            "sim/search",
            "sim/worker",
            "sim/serve",
            "sim/jobs",
            "sim/mpi",
        ),
        ("fmt/", "nlohmann/", "boost/", "mpi.h"),
    ),
}
PACKAGE = "python/pipewright"
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
    """Strongly connected components of two or more nodes (Tarjan 1972).

    arrows: node -> the nodes that it points to. A component is a sorted list.
    """
    order, lowest, stack, components = {}, {}, [], []

    def visit(node):
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for successor in sorted(arrows.get(node, ())):
            if successor not in order:
                visit(successor)
            if successor in stack:
                lowest[node] = min(lowest[node], lowest[successor])
        if lowest[node] == order[node]:
            start = stack.index(node)
            components.append(sorted(stack[start:]))
            del stack[start:]

    for node in sorted(arrows):
        if node not in order:
            visit(node)
    return [component for component in components if len(component) > 1]


def include_circles(root, folder):
    """Circles among the folder's files, and among its subfolders."""
    files, subfolders = {}, {}
    for path in sorted((root / folder).rglob("*.[ch]pp")):
        includer = path.relative_to(root).with_suffix("")
        for bracket, name in INCLUDE.findall(path.read_text()):
            included = pathlib.PurePath(name).with_suffix("")
            if bracket != '"' or not name.startswith(f"{folder}/"):
                continue
            for arrows, source, target in (
                (files, includer, included),
                (subfolders, includer.parent, included.parent),
            ):
                if source != target:
                    arrows.setdefault(str(source), set()).add(str(target))
    return circles(files) + circles(subfolders)


def import_circles(root):
    """Circles among the modules of the Python package."""
    package = root / PACKAGE
    paths = [*package.rglob("*.py"), *package.rglob("*.pyi")]  # a .pyi stands for the extension
    modules = {module_name(package, path): path for path in paths}
    arrows = {
        name: {target for target in imported_modules(name, path, modules) if target != name}
        for name, path in modules.items()
    }
    return circles(arrows)


def module_name(package, path):
    """Dotted name of a module: pipewright._table, or pipewright for pipewright/__init__.py."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(name, path, modules):
    """Modules of the package that a module imports anywhere: at its top, in a function, for types."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            candidates = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                levels_up = node.level - (path.name == "__init__.py")
                parents = name.split(".")[: len(name.split(".")) - levels_up]
                source = ".".join([*parents, *([source] if source else [])])
            # `from . import x` imports the module x if it exists; otherwise x is a name inside the
            # package.
            inner = [f"{source}.{alias.name}" for alias in node.names]
            candidates = [module if module in modules else source for module in inner]
        else:
            continue
        yield from (candidate for candidate in candidates if candidate in modules)


def unlisted_tests(root):
    """Tests that no CMakeLists.txt lists, so that they never run."""
    listed = set()
    for cmake in (root / "tests").rglob("CMakeLists.txt"):
        names = re.findall(r"[\w/]+_test\.cpp", cmake.read_text())
        listed.update(cmake.parent / name for name in names)
    for path in sorted((root / "tests").rglob("*_test.cpp")):
        if path not in listed:
            yield f"{path.relative_to(root)} is in no CMakeLists.txt, so it is never run"


OPENS = re.compile(r"^namespace ([\w:]+) \{", re.M)
TYPE = re.compile(r"^(?:struct|class|enum class) ([\w:]*\w)[^;(]*?\{", re.M)


def defined_twice(root):
    """Types that two headers define in the same namespace; the linker would silently keep one."""
    headers = {}
    for folder in ALLOWED:
        for path in sorted((root / folder).rglob("*.hpp")):
            text = path.read_text()
            space = OPENS.search(text)
            for name in TYPE.findall(text):
                key = f"{space[1] if space else ''}::{name}"
                headers.setdefault(key, set()).add(str(path.relative_to(root)))
    for name, paths in sorted(headers.items()):
        if len(paths) > 1:
            yield f"{name} is defined in {' and in '.join(sorted(paths))}"


def main():
    root = pathlib.Path(sys.argv[1])
    errors = [
        error
        for folder, (folders, libraries) in ALLOWED.items()
        for error in violations(root, folder, folders, libraries)
    ]
    errors += [
        f"{folder}: these include each other in a circle: {', '.join(circle)}"
        for folder in ALLOWED
        for circle in include_circles(root, folder)
    ]
    errors += [
        f"{PACKAGE}: these import each other in a circle: {', '.join(circle)}"
        for circle in import_circles(root)
    ]
    errors += unlisted_tests(root)
    errors += defined_twice(root)
    covered = sum(len(list((root / folder).rglob("*.[ch]pp"))) for folder in ALLOWED)
    if covered < 50:
        errors.append(f"only {covered} C++ files were found: the folders have moved")
    modules = len(list((root / PACKAGE).rglob("*.py")))
    if modules < 10:
        errors.append(f"only {modules} modules were found in {PACKAGE}: the package has moved")
    print("\n".join(errors) or f"{covered} C++ files and {modules} Python modules depend one way")
    return 1 if errors else 0


sys.exit(main())
