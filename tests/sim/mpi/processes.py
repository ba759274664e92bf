"""Finds processes by who started them."""

import pathlib


def read(process, name):
    """A file of /proc; empty once the process is gone."""
    try:
        return pathlib.Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:
        return b""


def parents():
    ids = (folder.name for folder in pathlib.Path("/proc").iterdir() if folder.name.isdigit())
    stats = {int(process): read(process, "stat").decode(errors="replace") for process in ids}
    return {process: int(stat.rsplit(")", 1)[1].split()[1])
            for process, stat in stats.items() if stat}


def find(ancestor, program, environment):
    """Ids of running processes below `ancestor` that run `program` with such an environment."""
    parent_of = parents()

    def is_below(process):
        while process in parent_of and process != ancestor:
            process = parent_of[process]
        return process == ancestor

    def fits(process):
        name = read(process, "cmdline").split(b"\0")[0].decode(errors="replace")
        values = read(process, "environ").decode(errors="replace").split("\0")
        return (pathlib.Path(name).name == program
                and all(f"{key}={value}" in values for key, value in environment.items()))

    return sorted(process for process in parent_of
                  if process != ancestor and is_below(process) and fits(process))
