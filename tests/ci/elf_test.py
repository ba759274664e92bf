"""What programs ask of the system, and the tags of wheels with them, on programs linked here.

Usage: elf_test.py COMPILER. readelf of binutils says what is right.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / ".ci"))
import elf  # noqa: E402

COMPILER = sys.argv.pop()


class Elf(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def link(self, text, *options):
        folder = pathlib.Path(self.place.name)
        source, program = folder / "a.cpp", folder / "a.out"
        source.write_text(text)
        subprocess.run([COMPILER, source, "-o", program, *options], check=True)
        return program

    def test_libraries_and_versions_are_those_of_readelf(self):
        program = self.link("#include <iostream>\nint main() { std::cout << 1; }\n")
        printed = subprocess.run(["readelf", "-dV", program], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        needs = elf.needs_of(program)
        self.assertEqual(needs.libraries, re.findall(r"NEEDED\).*\[(.*)\]", printed))
        self.assertEqual(set(needs.versions), set(re.findall(r"Name: (\S+_[\d.]+) ", printed)))

    def test_a_library_outside_glibc_is_refused(self):
        program = self.link("#include <iostream>\nint main() { std::cout << 1; }\n")
        with self.assertRaisesRegex(ValueError, r"libstdc\+\+\.so\.6, which not every system has"):
            elf.platform_tags([program])

    def test_a_folder_of_the_build_machine_is_refused(self):
        program = self.link("int main() {}\n", "-static-libgcc", "-Wl,-rpath,/opt/lib")
        with self.assertRaisesRegex(ValueError, "looks for libraries in /opt/lib"):
            elf.platform_tags([program])

    def test_the_newest_symbol_gives_the_tag(self):
        text = "int f() __asm__(\"{0}\");\n__asm__(\".symver {0},{0}@{1}\");\nint main() {{ f(); }}\n"
        program = self.link(text.format("memcpy", "GLIBC_2.14"), "-fno-builtin",
                            "-nostartfiles", "-Wl,-e,main")
        self.assertIn("GLIBC_2.14", elf.needs_of(program).versions)
        self.assertEqual(elf.platform_tags([program]),
                         ["manylinux_2_17_x86_64", "manylinux2014_x86_64"])
        program = self.link(text.format("getrandom", "GLIBC_2.25"), "-nostartfiles", "-Wl,-e,main")
        self.assertEqual(elf.platform_tags([program]), ["manylinux_2_25_x86_64"])

    def test_a_static_program_runs_on_any_linux(self):
        program = self.link("int main() {}\n", "-static")
        self.assertEqual(elf.needs_of(program).libraries, [])
        self.assertIn("musllinux_1_1_x86_64", elf.platform_tags([program]))

    def test_other_files_need_nothing(self):
        text = pathlib.Path(self.place.name, "a.py")
        text.write_text("1\n")
        self.assertIsNone(elf.needs_of(text))


unittest.main()
