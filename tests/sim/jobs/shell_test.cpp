#include <string>
#include <vector>

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
        "[hostname]\n[run][$HOSTS][$1][$(hostname)][$((N+1))]\n");
  CHECK(commands("L=($(hosts))\nrun ${#L[@]}\nM=(a b)\nrun ${#M[@]}") ==
        "[hosts]\n[run][${#L[@]}]\n[run][2]\n");
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

TEST_CASE("a case over several lines chooses one branch", "[jobs][shell]") {
  const std::string script =
      "case $S in\n  1b)\n    TP=1\n    ;;\n  8b|9b)\n    TP=4\n    ;;\n  *)\n    exit 1\n    "
      ";;\nesac\n"
      "run $TP\n";
  CHECK(commands("S=1b\n" + script) == "[run][1]\n");
  CHECK(commands("S=9b\n" + script) == "[run][4]\n");
  CHECK(commands("S=2b\n" + script).empty());
  CHECK(commands("case x in\nx) A=1 ;&\ny) B=2 ;;\nz) C=3 ;;\nesac\nrun $A $B ${C-none}") ==
        "[run][1][2][none]\n");
  CHECK(commands("f() { case $1 in [0-9]*) echo number;; *) echo text;; esac; }\n"
                 "run $(f 7b) $(f b7)") == "[run][number][text]\n");
}

TEST_CASE("an array in a string is joined with blanks", "[jobs][shell]") {
  CHECK(commands("L=(a 'b c')\nC=\"x ${L[@]} y\"\nrun \"$C\"") == "[run][x a b c y]\n");
  CHECK(commands("L=(--a 1\n  --b 2)\nsrun bash -c \"run ${L[*]}\"") ==
        "[srun][run][--a][1][--b][2]\n");
  CHECK(commands("L=(1 2)\neval \"run ${L[@]} ${NONE[@]} 3\"") == "[run][1][2][3]\n");
}

TEST_CASE("programs in pipelines and substitutions are recorded", "[jobs][shell]") {
  CHECK(
      commands(
          "make | sed s/a/b/ > out\nrun a 2>&1 | tee log\nA=$(run b)\n(run c) &\n{ run d; } > x") ==
      "[make]\n[sed][s/a/b/]\n[run][a]\n[tee][log]\n[run][b]\n[run][c]\n[run][d]\n");
}

TEST_CASE("words keep the lines on which they were written", "[jobs][shell]") {
  jobs::Script script;
  jobs::read_script(
      "A=(\n  --one\n  --two\n)\nB=\" \\\n  --three \\\n  --four\"\nC=\"${A[@]} $B\"\neval \"run "
      "$C\"\n",
      "s.sh", script);
  REQUIRE(script.commands.size() == 1);
  std::vector<int> lines;
  for (const jobs::Word& word : script.commands.front()) lines.push_back(word.origin.line);
  CHECK(lines == std::vector<int>{9, 2, 3, 6, 7});
}

TEST_CASE("arithmetic follows C", "[jobs][shell]") {
  CHECK(
      commands("A=4\nrun $((A > 1 ? 1 : 0)) $((A==4&&!0)) $((1<<3|1)) $((-7/2)) $((2**10%1000))") ==
      "[run][1][1][9][-3][24]\n");
  CHECK(commands("let A=2+3\n((A += 2, B = A++))\n((0)) || C=no\nrun $A $B $C") ==
        "[run][8][7][no]\n");
  CHECK(commands("run $((1/0)) $((9223372036854775807+1))") ==
        "[run][$((1/0))][$((9223372036854775807+1))]\n");
}

TEST_CASE("loops and functions build lists", "[jobs][shell]") {
  CHECK(commands("for i in {1..3}; do L+=(\"s$i\"); done\nrun \"${L[@]}\"") ==
        "[run][s1][s2][s3]\n");
  CHECK(commands("for ((i=0; i<4; i++)); do ((i==2)) && continue; S=\"$S,$i\"; done\nrun ${S#,}") ==
        "[run][0,1,3]\n");
  CHECK(commands(
            "set -- --tp 4 --pp 2\nwhile [ $# -gt 0 ]; do case $1 in --tp) TP=$2;; --pp) PP=$2;; "
            "esac; shift 2; done\nrun $TP $PP $#") == "[run][4][2][0]\n");
  CHECK(commands("n=outer\nf() { local n=$1; R=\"$R$n\"; }\nf a; f b\nrun $R $n") ==
        "[run][ab][outer]\n");
}

TEST_CASE("what a script does not decide is named with its line", "[jobs][shell]") {
  const auto notes = [](const std::string& text) {
    jobs::Script script;
    jobs::read_script(text, "s.sh", script);
    std::string all;
    for (const jobs::Unfollowed& note : script.unfollowed)
      all += std::to_string(note.origin.line) + ": " + note.text + ": " + note.why + "\n";
    return all;
  };
  CHECK_THAT(notes("A=1\nif nvidia-smi | grep -q H100; then A=2; fi\nrun $A"),
             Catch::StartsWith("2: if nvidia-smi: only a running shell knows the condition"));
  CHECK_THAT(notes("[ -f x ] && A=2"),
             Catch::StartsWith("1: [ -f x ]: only a running shell knows the result"));
  CHECK_THAT(notes("\n\nfor h in $(hosts); do A=$h; done"),
             Catch::StartsWith("3: for h: only a running shell knows the words"));
  CHECK_THAT(notes("source $ROOT/env.sh"),
             Catch::Contains("source $ROOT/env.sh: the file is not beside"));
  // Conditions on which nothing depends are not worth a note.
  CHECK(notes("if [ ! -d logs ]; then mkdir logs; fi\nmake || exit 1\nsource ~/.bashrc").empty());
}

TEST_CASE("scripts that bash refuses, or that never end, are errors with a line", "[jobs][shell]") {
  CHECK_THROWS_WITH(
      commands("run\nrun --moe-layer-freq ([0]*1+[1]*2)"),
      Catch::Contains("s.sh:2:1: ( does not belong here") && Catch::Contains("quotes"));
  CHECK_THROWS_WITH(commands("run 'a"), Catch::Contains("s.sh:1:1: the ' is not closed"));
  CHECK_THROWS_WITH(commands("if true; then\nrun"), Catch::Contains("'fi' is missing"));
  CHECK_THROWS_WITH(commands("case x in\na) run"), Catch::Contains("the case has no esac"));
  CHECK_THROWS_WITH(commands("DATA=<path>\nrun"), Catch::Contains("a word is missing after >"));
  CHECK_THROWS_WITH(commands("f() { f; }\nf"), Catch::Contains("nested too deeply"));
  CHECK_THROWS_WITH(commands("A=x\nfor i in {1..60}; do A=$A$A; done"),
                    Catch::Contains("s.sh:2:1"));
  CHECK_THROWS_WITH(
      commands("for i in {1..9999}; do for j in {1..9999}; do A=$((A + 1)); done; done"),
      Catch::Contains("steps"));
}

TEST_CASE("options of Slurm set its variables", "[jobs][shell]") {
  CHECK(commands("#SBATCH --nodes=4 --gpus-per-node=a100:8\n#SBATCH --ntasks-per-node 2\n"
                 "run $SLURM_NNODES $SLURM_GPUS_PER_NODE $SLURM_GPUS_ON_NODE $SLURM_NTASKS") ==
        "[run][4][8][8][8]\n");
  // Slurm sets SLURM_GPUS_PER_NODE by --gpus-per-node alone.
  CHECK(commands("#SBATCH -N 2\n#SBATCH -n 8\n#SBATCH --gres=gpu:4\n"
                 "run $SLURM_JOB_NUM_NODES $SLURM_NPROCS $SLURM_GPUS_ON_NODE "
                 "${SLURM_GPUS_PER_NODE:-none}") == "[run][2][8][4][none]\n");
  CHECK(commands("#SBATCH --nodes=2-4\nrun ${SLURM_NNODES:-asked}") == "[run][asked]\n");
}

TEST_CASE("Python lists can be repeated and joined", "[jobs]") {
  using List = std::vector<std::int64_t>;
  CHECK(jobs::python_list("([0]*2+[1]*3)") == List{0, 0, 1, 1, 1});
  CHECK(jobs::python_list("([1]*2+[0])*2") == List{1, 1, 0, 1, 1, 0});
  CHECK(jobs::python_list("[1, 0]") == List{1, 0});
  CHECK_FALSE(jobs::python_list("[1]*99999999"));
  CHECK_FALSE(jobs::python_list("3"));
}

TEST_CASE("a here-document with unknown parts is read as a script", "[jobs][shell]") {
  CHECK(commands("F=4\nsbatch <<EOF\n#SBATCH --nodes=2\nsrun bash -c \"cd $HOME; "
                 "run $F \\$SLURM_NNODES\"\nEOF\n") == "[sbatch][srun][run][4][2]\n");
  // Nothing is known of the output of a program.
  CHECK(commands("sbatch < <(make_script)").find("[sbatch]") != std::string::npos);
}

TEST_CASE("sourced scripts name files by the folder of the first script", "[jobs][shell]") {
  jobs::Script script;
  script.read_file = [](const std::string& file) -> std::optional<std::string> {
    if (file == "job/conf/arguments.sh") return "source \"${HERE}/conf/${1}.sh\"\n";
    if (file == "job/conf/Qwen/small.sh") return "L=2\n";
    return std::nullopt;
  };
  jobs::read_script(
      "HERE=$(dirname $(readlink -f $0))\nset -- Qwen/small\nsource $HERE/conf/arguments.sh\n"
      "run $L\n",
      "job/train.sh", script);
  CHECK(script.unfollowed.empty());
  REQUIRE(script.commands.size() == 1);
  CHECK(script.commands.front().back().text == "2");
}
