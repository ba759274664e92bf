#include "sim/search/journal.hpp"

#include <csignal>

#include <catch2/catch.hpp>
#include <sys/resource.h>

#include "analysis/report/search/row_json.hpp"
#include "analysis/trace/error.hpp"
#include "support/program.hpp"
#include "support/search_world.hpp"

using namespace pipewright;
using analysis::CandidateRow;
using Catch::Contains;
using search::Journal;
using search::SearchIdentity;
using tests::CommandFolder;

namespace {

const SearchIdentity identity{.sweep = "devices: [2, 4]\nmicrobatches: 8\n",
                              .axes = {{.key = "devices", .name = "pp", .values = {"2", "4"}}}};

std::vector<CandidateRow> rows(std::uint32_t count) {
  tests::Random random(1);
  return tests::random_world(random, count).simulated;
}

std::vector<std::string> lines(const std::vector<CandidateRow>& rows) {
  std::vector<std::string> texts;
  for (const CandidateRow& row : rows) texts.push_back(analysis::to_json_line(row));
  return texts;
}

std::string message(const std::filesystem::path& file, const SearchIdentity& expected) {
  try {
    Journal journal(file, expected);
  } catch (const trace::TraceError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a journal returns the rows that were appended", "[journal]") {
  const CommandFolder place;
  const auto file = place.folder() / "r.h5.journal";
  const std::vector<CandidateRow> written = rows(20);
  {
    Journal journal(file, identity);
    CHECK(journal.is_new());
    CHECK(journal.take_rows().empty());
    journal.append({written.begin(), written.begin() + 5});
    journal.append({});
    journal.append({written.begin() + 5, written.end()});
  }
  Journal journal(file, identity);
  CHECK_FALSE(journal.is_new());
  CHECK(lines(journal.take_rows()) == lines(written));
  journal.remove();
  CHECK(place.files().empty());
}

TEST_CASE("a journal that was torn anywhere loses only the torn line", "[journal]") {
  const CommandFolder place;
  const auto file = place.folder() / "j";
  const std::vector<CandidateRow> written = rows(4);
  Journal(file, identity).append({written.begin(), written.end() - 1});
  const std::string whole = place.read("j");
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string torn = whole.substr(0, size);
    const auto whole_lines = std::count(torn.begin(), torn.end(), '\n');
    std::vector<CandidateRow> expected(written.begin(),
                                       written.begin() + std::max<long>(0, whole_lines - 1));
    place.write("j", torn);
    {
      Journal journal(file, identity);
      REQUIRE(journal.is_new() == (whole_lines == 0));
      REQUIRE(lines(journal.take_rows()) == lines(expected));
      journal.append({written.back()});
    }
    expected.push_back(written.back());
    Journal journal(file, identity);
    REQUIRE(lines(journal.take_rows()) == lines(expected));
  }
}

TEST_CASE("errors name the line of a journal that is not a row", "[journal]") {
  const CommandFolder place;
  const auto file = place.folder() / "j";
  Journal(file, identity).append(rows(2));
  const std::string good = place.read("j");
  place.write("j", good + "{\"candidate\": \n" + good.substr(good.find('\n') + 1));
  CHECK_THAT(message(file, identity), Contains("j:4: "));
  place.write("j", "what is this?\n");
  CHECK_THAT(message(file, identity), Contains("j:1: not the journal of a search"));
  place.write("j", "{\"pipewright_search\": 2}\n");
  CHECK_THAT(message(file, identity), Contains("later version"));
  place.write("j", "[]\n");
  CHECK_THAT(message(file, identity), Contains("j:1: not the journal of a search"));
  CHECK(place.read("j") == "[]\n");
}

TEST_CASE("the journal of another sweep is refused with the first difference", "[journal]") {
  const CommandFolder place;
  const auto file = place.folder() / "j";
  Journal(file, identity).append(rows(2));
  SearchIdentity other_identity = identity;
  other_identity.sweep = "devices: [2, 4]\nmicrobatches: 16\n";
  CHECK_THAT(message(file, other_identity),
             Contains("j: these are the results of another sweep: line 2 of that sweep is "
                      "'microbatches: 8', of this sweep 'microbatches: 16'"));
  other_identity.sweep = identity.sweep + "p2p: eager\n";
  CHECK_THAT(message(file, other_identity),
             Contains("line 3 of that sweep is nothing, of this sweep 'p2p: eager'"));
  other_identity.sweep = "devices: [2, 4]\n";
  CHECK_THAT(message(file, other_identity),
             Contains("line 2 of that sweep is 'microbatches: 8', of this sweep nothing"));
  // The same sweep text has other values of `auto` if the cluster's file has changed in the
  // meantime.
  other_identity = identity;
  other_identity.axes[0].values = {"2", "4", "8"};
  CHECK_THAT(message(file, other_identity),
             Contains("the values of devices were 2, 4; those of devices are 2, 4, 8"));
  other_identity.axes.clear();
  CHECK_THAT(message(file, other_identity), Contains("it has other axes"));
  CHECK(message(file, identity).empty());
}

TEST_CASE("two searches cannot write the same journal", "[journal]") {
  const CommandFolder place;
  const auto file = place.folder() / "j";
  const auto first = std::make_unique<Journal>(file, identity);
  CHECK_THAT(message(file, identity), Contains("another search is writing its results here"));
  first->append(rows(1));
  first->remove();
  // A journal can be created again after the previous one was removed.
  CHECK(Journal(file, identity).is_new());
}

TEST_CASE("a journal that cannot grow keeps its lines", "[journal]") {
  const CommandFolder place;
  const auto file = place.folder() / "j";
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<CandidateRow> written = rows(20);
  {
    Journal journal(file, identity);
    journal.append({written.begin(), written.begin() + 10});
    const rlimit full{.rlim_cur = std::filesystem::file_size(file) + 100,
                      .rlim_max = RLIM_INFINITY};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &full) == 0);
    CHECK_THROWS_WITH(journal.append({written.begin() + 10, written.end()}),
                      Contains("cannot write: File too large") && Contains("--resume"));
  }
  const rlimit unlimited{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  CHECK(place.read("j").back() == '\n');
  Journal journal(file, identity);
  CHECK(lines(journal.take_rows()) == lines({written.begin(), written.begin() + 10}));
}

TEST_CASE("an error names the journal that cannot be opened", "[journal]") {
  CHECK_THROWS_WITH(Journal("/nowhere/j", identity), Contains("/nowhere/j: cannot write"));
}
