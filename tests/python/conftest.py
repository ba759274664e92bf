"""Fixtures of the tests of the Python package."""

import atexit
import os
import pathlib
import shutil
import tempfile

import pytest

import pipewright

# Tests do not store clusters and schedules in the user's cache.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="pipewright-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)

ROOT = pathlib.Path(__file__).parents[2]


def scenario(**keys):
    """Four devices and eight microbatches on an ideal network: 1F1B takes 11 passes of 1 and 2 s,
    as 8 microbatches follow 3 that fill the pipeline: (8 + 3) x 3 s."""
    return pipewright.Scenario(
        **{"devices": 4, "microbatches": 8, "forward_times": 1, "backward_times": 2, **keys}
    )


def on_cluster(**keys):
    return pipewright.Scenario(
        **{
            "cluster": "dgx-h100",
            "model": "llama-3-8b",
            "parallel": {"tp": 2, "pp": 4, "dp": 2},
            "microbatches": 8,
            **keys,
        }
    )


@pytest.fixture(scope="session")
def program():
    return os.environ["PIPEWRIGHT"]


@pytest.fixture(scope="session")
def root():
    return ROOT
