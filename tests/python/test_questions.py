"""Tests of displays, why and compare."""

import xml.etree.ElementTree as etree

import pytest

import pipewright

from conftest import on_cluster, scenario


def test_a_result_prints_like_the_program(tmp_path, program):
    import subprocess

    job = on_cluster()
    (tmp_path / "a.yaml").write_text(job.to_yaml())
    printed = subprocess.run([program, "run", tmp_path / "a.yaml", "--details"],
                             capture_output=True, text=True)
    table = str(pipewright.run(job))
    assert printed.stdout.startswith(table)
    notes = printed.stdout[len(table):].splitlines()
    assert all(line.startswith("note: ") for line in notes if line)


def test_a_notebook_shows_a_table_notes_and_a_timeline():
    runs = pipewright.runs(scenario(schedule=["1f1b", "gpipe"]))
    page = runs._repr_html_()
    table = etree.fromstring(page[page.index("<table") : page.index("</table>") + 8].replace("<br>", "<br/>"))
    assert [row[0].text for row in table[1:]] == ["1f1b", "gpipe"]
    heads = ["".join(head.itertext()) for head in table[0]]
    assert any("bubble" in head for head in heads)
    assert page.count('<img alt="" src="data:image/svg+xml;base64,') == 1
    # The only fixed colour in the pictures is that of the background.
    assert page.count("#") == 1 and "background: #fff" in page


def test_the_page_is_shown_in_a_frame():
    page = pipewright.run(scenario()).page(height=300)
    assert page.html.startswith("<!doctype html>") or page.html.startswith("<!DOCTYPE html>")
    assert 'height="300"' in page._repr_html_()


def test_pictures_are_svg():
    assert "<svg" in pipewright.run(on_cluster()).picture("memory").svg


def test_why_ranks_changes_by_gain():
    seen = []
    answer = pipewright.why(
        pipewright.run(scenario(p2p_time="100 ms")), progress=lambda done, of: seen.append((done, of))
    )
    changes = answer.what_ifs()
    assert seen and seen[-1][0] == seen[-1][1]
    assert changes[0]["makespan_s"] < answer.makespan_s
    assert answer.verdict in str(answer)
    assert len(answer.to_pandas()) == len(changes)


def test_why_runs_without_what_ifs():
    assert pipewright.why(pipewright.run(scenario()), what_if=False).what_ifs() == []


def test_compare_reports_differences():
    runs = pipewright.run_many([scenario(), scenario(p2p_time="10 ms")])
    answer = pipewright.compare(*runs, names=["before", "after"], conditions=["makespan>+0.1%"])
    assert answer.holds()
    assert "before" in str(answer) and "after" in str(answer)
    (change,) = answer.summary["others"][0]["settings"]
    assert change["key"] == "p2p_time" and change["value"] == "10 ms"
    with pytest.raises(pipewright.ConditionError):
        pipewright.compare(*runs, conditions=["makespan"])
