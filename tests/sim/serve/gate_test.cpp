#include "sim/serve/gate.hpp"

#include <set>

#include <catch2/catch.hpp>

using namespace pipewright::serve;

namespace {

Gate gate("127.0.0.1", 8123, "secret");

Head with_cookie(std::string_view host) {
  return {.target = "/api/form", .host = host, .cookie = "a=b; pipewright-8123=secret"};
}

}  // namespace

TEST_CASE("the address with its token sets a cookie, which gives access from then on", "[serve]") {
  CHECK(gate.address() == "http://127.0.0.1:8123/?token=secret");
  CHECK(gate.judge({.target = "/?token=secret", .host = "127.0.0.1:8123"}) == Verdict::first_visit);
  CHECK(gate.cookie() == "pipewright-8123=secret; Path=/; HttpOnly; SameSite=Strict");
  CHECK(gate.judge(with_cookie("127.0.0.1:8123")) == Verdict::welcome);
  CHECK(gate.judge(with_cookie("localhost:8123")) == Verdict::welcome);
  CHECK(gate.judge({.target = "/", .host = "127.0.0.1:8123", .token = "secret"}) ==
        Verdict::welcome);
}

TEST_CASE("a missing or wrong token gives no access", "[serve]") {
  for (const char* const target : {"/", "/?token=", "/?token=secre", "/?token=secrets",
                                   "/?other=secret", "/api/form?token=secret"})
    CHECK(gate.judge({.target = target, .host = "127.0.0.1:8123"}) == Verdict::no_token);
  for (const char* const cookie : {"", "secret", "pipewright-8124=secret", "pipewright-8123=",
                                   "xpipewright-8123=secret", "pipewright-8123=SECRET"})
    CHECK(gate.judge({.target = "/", .host = "127.0.0.1:8123", .cookie = cookie}) ==
          Verdict::no_token);
}

TEST_CASE("other host names that lead to the server are refused", "[serve]") {
  for (const char* const host : {"evil.example:8123", "127.0.0.1", "127.0.0.1:80", "", ":8123",
                                 "127.0.0.1.evil.example:8123", "10.0.0.1:8123"})
    CHECK(gate.judge(with_cookie(host)) == Verdict::wrong_host);
  Gate open("0.0.0.0", 8123, "secret");
  CHECK(open.judge(with_cookie("10.0.0.1:8123")) == Verdict::welcome);
  CHECK(open.judge(with_cookie("evil.example:8123")) == Verdict::wrong_host);
}

TEST_CASE("an IPv6 host is written in brackets", "[serve]") {
  Gate ipv6("::1", 8123, "secret");
  CHECK(ipv6.address() == "http://[::1]:8123/?token=secret");
  Head head = with_cookie("[::1]:8123");
  CHECK(ipv6.judge(head) == Verdict::welcome);
  head.origin = "http://[::1]:8123";
  CHECK(ipv6.judge(head) == Verdict::welcome);
  CHECK(ipv6.judge(with_cookie("[::2]:8123")) == Verdict::wrong_host);
  CHECK(ipv6.judge(with_cookie("evil.example:8123")) == Verdict::wrong_host);
  Gate open("::", 8123, "secret");
  CHECK(open.address() == "http://[::1]:8123/?token=secret");
  CHECK(open.judge(with_cookie("[fd00::7]:8123")) == Verdict::welcome);
  CHECK(open.judge(with_cookie("evil.example:8123")) == Verdict::wrong_host);
}

TEST_CASE("requests from pages of other sites and ports are refused", "[serve]") {
  Head head = with_cookie("127.0.0.1:8123");
  head.origin = "http://127.0.0.1:9999";
  CHECK(gate.judge(head) == Verdict::wrong_origin);
  head.origin = "http://127.0.0.1:8123";
  CHECK(gate.judge(head) == Verdict::welcome);
  head.site = "same-site";
  CHECK(gate.judge(head) == Verdict::wrong_origin);
  head.site = "same-origin";
  CHECK(gate.judge(head) == Verdict::welcome);
}

TEST_CASE("a link of another site leads to the page, and to nothing else", "[serve]") {
  Head head = with_cookie("127.0.0.1:8123");
  head.site = "cross-site";
  head.mode = "navigate";
  CHECK(gate.judge(head) == Verdict::wrong_origin);
  head.target = "/";
  CHECK(gate.judge(head) == Verdict::welcome);
  head.mode = "no-cors";
  CHECK(gate.judge(head) == Verdict::wrong_origin);
  head = {.target = "/?token=secret", .host = "127.0.0.1:8123", .site = "cross-site"};
  CHECK(gate.judge(head) == Verdict::first_visit);
}

TEST_CASE("the address for a browser's command line opens the page once", "[serve]") {
  Gate once("127.0.0.1", 8123, "secret");
  const std::string address = once.launch_address();
  const std::string target = address.substr(address.find("/?"));
  CHECK(address.find("secret") == std::string::npos);
  CHECK(once.judge({.target = "/api/form", .host = "127.0.0.1:8123", .token = target.substr(8)}) ==
        Verdict::no_token);
  CHECK(once.judge({.target = target, .host = "127.0.0.1:8123"}) == Verdict::first_visit);
  CHECK(once.judge({.target = target, .host = "127.0.0.1:8123"}) == Verdict::no_token);
  CHECK(once.judge({.target = "/?token=", .host = "127.0.0.1:8123"}) == Verdict::no_token);
  CHECK(once.judge({.target = "/?token=secret", .host = "127.0.0.1:8123"}) == Verdict::first_visit);
}

TEST_CASE("every token is new and has 32 digits", "[serve]") {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(random_token());
  CHECK(tokens.size() == 100);
  for (const std::string& token : tokens) {
    CHECK(token.size() == 32);
    CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
  }
}
