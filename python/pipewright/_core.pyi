"""Extension for work in the Python process: trees of scenarios and the table of keys."""

from typing import Any, TypedDict

class ConfigError(ValueError): ...

class KeyRow(TypedDict):
    name: str
    alias: str
    help: str
    unit: str
    default: str
    required: bool
    type: str
    is_list: bool
    choices: list[str]
    list_choices: list[str]
    is_map: bool

class Checked(TypedDict):
    yaml: str
    title: str
    schedules: list[str]
    outputs: list[str]
    trace: str | None

class Tree:
    @staticmethod
    def from_object(object: object) -> Tree: ...
    @staticmethod
    def from_text(text: str, name: str) -> Tree: ...
    @staticmethod
    def from_file(path: str) -> Tree: ...
    @staticmethod
    def from_json(text: str) -> Tree: ...
    def with_key(self, path: str, value: object) -> Tree: ...
    def object(self) -> Any: ...
    def yaml(self) -> str: ...
    def json(self) -> str: ...
    def checked(self) -> Checked: ...

class Block:
    def __init__(self, file: int) -> None: ...

def keys() -> list[KeyRow]: ...
def set_own_library(folder: str) -> None: ...
def version() -> str: ...
