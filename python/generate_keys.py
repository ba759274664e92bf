"""Generates the module of scenario keys: names, types and help texts from the program's table.

    python3 generate_keys.py PROGRAM FILE
"""

import json
import keyword
import pathlib
import re
import socket
import subprocess
import sys
import textwrap

NAMES = {
    "text": "str",
    "flag": "bool",
    "count": "int | str",
    "number": "float | str",
    "time": "Time",
    "size": "Size",
    "rate": "Rate",
    "path": "Path",
    "library": "Path",
    "schedule": "Path",
}

HEAD = '''"""Types and help texts of the keys of a scenario, generated from the program's table of keys.

Times and sizes are numbers of seconds and bytes, or texts with a unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypedDict, Union

Time = Union[float, str]
"""Seconds, or ``"18.5 ms"``."""
Size = Union[int, str]
"""Bytes, or ``"24 MiB"``."""
Rate = Union[float, str]
"""Per second, or ``"450 GB/s"``."""
Path = Union[str, PathLike[str]]
"""A file, or a name of the library for keys that accept it."""


class KeyRow(TypedDict):
    """A row of the program's table of keys."""

    name: str
    alias: str
    type: str
    is_map: bool
    choices: list[str]


class ModelConfig(Protocol):
    """A model configuration of Hugging Face's transformers."""

    def to_dict(self) -> dict[str, Any]: ...

'''


def class_name(path):
    return "".join(word.capitalize() for word in re.split(r"\W|_", path)) + "Keys"


def literal_of(choices):
    return f"Literal[{', '.join(repr(choice) for choice in choices)}]"


def type_of(row):
    kind = row["type"]
    if kind == "map":
        types = [] if row["is_map"] else ["float", "Mapping[str, float]"]
    elif kind == "choice":
        types = [literal_of(dict.fromkeys(row["choices"] + row["list_choices"]))]
        if row["is_map"]:
            types.append("str")
    else:
        types = [NAMES[kind]]
    if row["is_map"]:
        types += [class_name(row["name"]), "Mapping[str, Any]"]
    if row["name"] == "model":
        types.append("ModelConfig")
    if row["is_list"]:
        items = [literal_of(row["list_choices"])] if row["list_choices"] else types
        types.append(f"Sequence[{' | '.join(items)}]")
    return " | ".join(types)


def words_of(row):
    words = row["help"]
    if row["unit"]:
        words += f", in {row['unit']}"
    if row["default"]:
        words += f" (else {row['default']})"
    return words[:1].upper() + words[1:] + "."


def doc(text, indent):
    """Formats a docstring in lines of 100 columns."""
    lines = textwrap.wrap(text.replace("\\", "\\\\"), 94 - indent)
    if len(lines) == 1:
        return f'{" " * indent}"""{lines[0]}"""\n'
    body = textwrap.indent("\n".join(lines), " " * indent).lstrip()
    return f'{" " * indent}"""{body}\n{" " * indent}"""\n'


def typed_dict(row, inner):
    names = [key["name"].rsplit(".", 1)[1] for key in inner]
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        keys = "".join(f"        {name!r}: {type_of(key)},\n" for name, key in zip(names, inner))
        made = class_name(row["name"])
        return f"{made} = TypedDict(\n    {made!r},\n    {{\n{keys}    }},\n    total=False,\n)\n"
    lines = [f"class {class_name(row['name'])}(TypedDict, total=False):\n"]
    lines.append(doc(f"``{row['name']}``: {words_of(row)}", 4) + "\n")
    for key in inner:
        name = key["name"].rsplit(".", 1)[1]
        lines.append(f"    {name}: {type_of(key)}\n" + doc(words_of(key), 4))
        if key["alias"]:
            lines.append(f"    {key['alias']}: {type_of(key)}\n" + doc(f"Alias of {name}.", 4))
    return "".join(lines)


def parameters(top):
    lines = []
    for row in top:
        names = [row["name"], row["alias"]] if row["alias"] else [row["name"]]
        lines += [f"        {name}: {type_of(row)} | None = None,\n" for name in names]
    return "".join(lines)


def key_list(top):
    lines = []
    for row in top:
        name = f"{row['name']} (or {row['alias']})" if row["alias"] else row["name"]
        text = textwrap.wrap(f"{name}: {words_of(row)}", 88)
        lines.append("\n".join(("    " if i == 0 else "        ") + t for i, t in enumerate(text)))
    return "\n".join(lines)


def method(name, head, doc_text, top, returns, call):
    return (
        f"    def {name}(\n{head}        *,\n{parameters(top)}    ) -> {returns}:\n"
        f'        """{doc_text}"""\n'
        f"        keys = {{k: v for k, v in locals().items() if v is not None}}\n"
        f"{call}\n"
    )


def asked(program):
    """The program's answer to the request for its keys."""
    ours, theirs = socket.socketpair()
    with ours, theirs, subprocess.Popen([program, "--answer"], stdin=theirs.fileno()) as child:
        theirs.close()
        with ours.makefile("rw") as messages:
            messages.write('{"ask": "keys"}\n')
            messages.flush()
            line = messages.readline()
        ours.close()
        if child.wait() != 0 or not line:
            sys.exit(f"{program} does not answer")
    return json.loads(line)["answer"]


def table(rows):
    names = ("name", "alias", "type", "is_map", "choices")
    lines = "".join(f"    {({name: row[name] for name in names})!r},\n" for row in rows)
    return f"ROWS: list[KeyRow] = [\n{lines}]\n"


def main():
    answer = asked(sys.argv[1])
    rows = answer["keys"]
    version = re.match(r"pipewright (\S+),", answer["versions"])[1]
    top = [row for row in rows if "." not in row["name"]]
    inner = {}
    for row in rows:
        if "." in row["name"]:
            inner.setdefault(row["name"].rsplit(".", 1)[0], []).append(row)
    maps = [row for row in rows if row["is_map"]]
    parts = [HEAD, f"VERSION = {version!r}\n", table(rows)]
    # Deeper maps come first, since the generated classes must be defined before they are used.
    for row in sorted(maps, key=lambda row: -row["name"].count(".")):
        parts.append(typed_dict(row, inner.get(row["name"], [])))
    parts.append(
        "class KeysOfScenario:\n"
        '    """Base of scenarios, with their keys as parameters:\n\n'
        f'{key_list(top)}\n    """\n\n'
        + method(
            "__init__",
            "        self,\n        base: Mapping[str, Any] | KeysOfScenario | None = None,\n"
            "        /,\n",
            "Makes a scenario with these keys; they override those of ``base``.",
            top,
            "None",
            '        del keys["self"]\n        self._begin(keys.pop("base", None), keys)',
        )
        + "\n    def _begin(self, base: Any, keys: dict[str, Any]) -> None:\n"
        "        raise NotImplementedError\n"
    )
    pathlib.Path(sys.argv[2]).write_text("\n\n".join(parts))


main()
