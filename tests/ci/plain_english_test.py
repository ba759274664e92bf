"""The check of comments, help texts and names, on small trees written here."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).parents[2] / ".ci" / "plain_english.py"


def check(files, *options):
    """Exit status and lines of the check on a git repository with these files."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        for words in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *words], cwd=root, check=True)
        ran = subprocess.run([sys.executable, CHECK, root, *options],
                             capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout.splitlines()


class PlainEnglish(unittest.TestCase):
    def test_sentences_and_nouns_pass(self):
        status, lines = check({"sim/a.cpp": "// Clamps a duration to zero.\nint clamp(int seconds);\n"})
        self.assertEqual(status, 0)
        self.assertEqual(len(lines), 3)

    def test_a_comment_that_begins_with_a_preposition_is_a_fragment(self):
        status, lines = check({"sim/a.cpp": "\n// Of an operation's first step.\ndouble latency;\n"})
        self.assertEqual(status, 1)
        self.assertIn("sim/a.cpp:2: fragments: Of an operation's first step.", lines)

    def test_two_words_and_tool_directives_are_not_fragments(self):
        text = "// For tests.\nint a;\n// NOLINTNEXTLINE of the whole line\nint b;\n"
        self.assertEqual(check({"sim/a.cpp": text})[0], 0)

    def test_a_bare_pronoun_is_a_bad_name_but_not_as_part_of_a_name(self):
        status, lines = check({"sim/a.cpp": "int one; int one_way;\n"})
        self.assertEqual(status, 1)
        self.assertEqual(lines[0], "sim/a.cpp:1: pronouns: one")
        self.assertIn("pronouns: 1 of 4 identifiers", lines[-1])

    def test_strings_comments_and_members_hold_no_names(self):
        text = 'auto text = "one found"; // given all\nint x = row.other + p->most;\n'
        self.assertEqual(check({"sim/a.cpp": text})[0], 0)

    def test_help_texts_are_read_in_tables_of_keys_and_commands(self):
        files = {name: 'Key{"clock", "of matrix products"},\n'
                 for name in ("sim/config/gpu.cpp", "sim/workload/gpu.cpp")}
        status, lines = check(files)
        self.assertEqual(status, 1)
        self.assertEqual(lines[0], "sim/config/gpu.cpp:1: helps: of matrix products")
        self.assertEqual(lines[-2], "helps: 1 of 1 (limit 0)")

    def test_the_second_literal_of_a_text_does_not_begin_it(self):
        text = 'Key{"clock", "clock scaling "\n    "of matrix products"},\n'
        self.assertEqual(check({"sim/config/gpu.cpp": text})[0], 0)

    def test_the_limits_are_options(self):
        files = {"sim/a.cpp": "// Of an operation's first step.\nint one;\n"}
        self.assertEqual(check(files, "--limits", "100", "0", "50")[0], 0)
        self.assertEqual(check(files, "--limits", "99", "0", "50")[0], 1)

    def test_tests_and_vendored_files_are_not_measured(self):
        files = {name: "int one;\n" for name in ("tests/a.cpp", "analysis/web/vendor/a.js")}
        self.assertEqual(check(files)[0], 0)


if __name__ == "__main__":
    unittest.main()
