#include <catch2/catch.hpp>

#include "sim/jobs/request/python_list.hpp"
#include "sim/jobs/shell/script.hpp"

using namespace pipewright;

namespace {

// Returns the commands that a script would run, one per line, with each word in brackets.
std::string commands(const std::string& text) {
  jobs::Script script;
  jobs::read_script(text, "s.sh", script);
  std::string all;
  for (const auto& command : script.commands) {
    for (const jobs::Word& word : command) all += "[" + jobs::readable(word.text) + "]";
    all += "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("words are split and unquoted as in a shell", "[jobs][shell]") {
  CHECK(commands("A='x  y'\nrun $A \"$A\" '$A' a\\ b # end\n") == "[run][x][y][x  y][$A][a b]\n");
  CHECK(commands("L=(1 'b c')\nL+=(d)\nrun ${L[@]} \"${L[@]}\"") ==
        "[run][1][b][c][d][1][b c][d]\n");
  CHECK(commands("run a \\\n  b; run c && run d") == "[run][a][b]\n[run][c]\n[run][d]\n");
  CHECK(commands("N=4\nrun ${M:-8} ${N:-8} ${M:+x}${N:+y} $((N * (2+1) - 1)) ${N}k") ==
        "[run][8][4][y][11][4k]\n");
}

TEST_CASE("values that only a running shell knows are unknowns with their names", "[jobs][shell]") {
  CHECK(commands("run $HOSTS ${1} $(hostname) $((N+1))") ==
        "[run][$HOSTS][$1][$(hostname)][$((N+1))]\n");
}

TEST_CASE("conditions on texts and numbers are evaluated", "[jobs][shell]") {
  CHECK(commands("A=fp8\nif [[ $A == fp8 ]]; then run yes; else run no; fi") == "[run][yes]\n");
  CHECK(
      commands("A=3\nif [ $A -gt 4 ]; then run a; elif [ $A -eq 3 ]; then run b; else run c\nfi") ==
      "[run][b]\n");
  CHECK(commands("if [ -z \"$U\" ] && [ -n \"x\" ]; then run a; fi") == "[run][a]\n");
  CHECK(commands("M=7b\ncase $M in\n 70b) run a;;\n 7*|8b) run b;;\n *) run c;;\nesac") ==
        "[run][b]\n");
  CHECK(commands("for i in 1 2; do run $i; done\nrun z") == "[run][1]\n[run][2]\n[run][z]\n");
  CHECK(commands("[ -n \"$U\" ] && run a\n[ -z \"$U\" ] && run b") == "[run][b]\n");
}

TEST_CASE("Python lists can be repeated and joined", "[jobs]") {
  using List = std::vector<std::int64_t>;
  CHECK(jobs::python_list("([0]*2+[1]*3)") == List{0, 0, 1, 1, 1});
  CHECK(jobs::python_list("([1]*2+[0])*2") == List{1, 1, 0, 1, 1, 0});
  CHECK(jobs::python_list("[1, 0]") == List{1, 0});
  CHECK_FALSE(jobs::python_list("[1]*99999999"));
  CHECK_FALSE(jobs::python_list("3"));
}
