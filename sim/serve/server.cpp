#include "sim/serve/server.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <list>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "analysis/web/explore/explore_page.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/readable.hpp"
#include "sim/process/process.hpp"
#include "sim/serve/children.hpp"
#include "sim/serve/connection.hpp"
#include "sim/serve/gate.hpp"
#include "sim/serve/results.hpp"

namespace pipewright::serve {
namespace {

namespace net = boost::asio;
using net::ip::tcp;
using nlohmann::json;

struct Route {
  std::string_view path;
  Answer answer;
  const char* slot;  // per tab; a new question ends the previous one of its slot
  bool reads_results = false;
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> types{
    {{".html", "text/html; charset=utf-8"}, {".h5", "application/x-hdf5"}}};

// Returns the memory limit of a child process in bytes, so that a scenario of a billion devices
// cannot exhaust the machine.
std::uint64_t three_quarters_of_memory() {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 4 * 3;
}

// Returns the address of a host that is given by its address or by its name, such as localhost.
// Throws boost::system::system_error.
net::ip::address address_of(net::io_context& context, const std::string& host) {
  boost::system::error_code is_name;
  net::ip::address address = net::ip::make_address(host, is_name);
  if (!is_name) return address;
  return tcp::resolver(context).resolve(host, "")->endpoint().address();
}

class Server {
 public:
  Server(net::io_context& context, const Options& options)
      : acceptor_(context),
        options_(options),
        results_(),
        workspace_{options.project, results_.folder(), std::max<std::size_t>(1, options.jobs - 1)},
        routes_{Route{"/api/run", answer_run, "run"},
                Route{"/api/what-if", answer_what_if, "what-if", true},
                Route{"/api/compare", answer_compare, "compare"},
                Route{"/api/launch", answer_launch, "launch"},
                Route{"/api/search", options.answer_search, "search"},
                Route{"/api/goodput", options.answer_goodput, "goodput"}},
        children_(context, options.jobs) {
    const tcp::endpoint endpoint(address_of(context, options.host), options.port);
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(net::socket_base::reuse_address(true));
    acceptor_.bind(endpoint);
    acceptor_.listen();
    gate_.emplace(endpoint.address().to_string(), acceptor_.local_endpoint().port(),
                  random_token());
    accept();
  }

  Gate& gate() { return *gate_; }

 private:
  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& failed, tcp::socket socket) {
      if (failed == net::error::operation_aborted) return;
      std::erase_if(connections_, [](const auto& connection) { return connection.expired(); });
      // Connections without a request yield to new ones, so that they cannot lock anybody out.
      if (connections_.size() >= max_connections) close_idle_connection();
      if (!failed && connections_.size() < max_connections) {
        const auto accepted = std::make_shared<Connection>(
            std::move(socket), [this](const Request& request, const auto& connection) {
              handle(request, connection);
            });
        connections_.push_back(accepted);
        accepted->read();
      }
      accept();
    });
  }

  // Closes the connection that has waited longest for a request.
  void close_idle_connection() {
    const auto idle = std::ranges::find_if(connections_, [](const auto& weak) {
      const std::shared_ptr<Connection> connection = weak.lock();
      return connection && connection->is_idle();
    });
    if (idle == connections_.end()) return;
    idle->lock()->close();
    connections_.erase(idle);
  }

  void handle(const Request& request, const std::shared_ptr<Connection>& connection) {
    const auto field = [&](const char* name) {
      const auto value = request[name];
      return std::string_view(value.data(), value.size());
    };
    const std::string_view target(request.target().data(), request.target().size());
    const auto refuse = [&](unsigned status, const char* reason) {
      connection->reply({.status = status, .body = std::string(reason) + "\n"});
    };
    switch (gate_->judge({target, field("Host"), field("Cookie"), field("X-Pipewright-Token"),
                          field("Origin"), field("Sec-Fetch-Site"), field("Sec-Fetch-Mode")})) {
      case Verdict::wrong_host:
        return refuse(421, "this page is not served under that host name");
      case Verdict::wrong_origin:
        return refuse(403, "requests from pages of other sites are refused");
      case Verdict::no_token:
        return refuse(401, "open the address with the token that pipewright serve printed");
      case Verdict::first_visit:
        // The page itself and no redirection: after a click on another site, browsers would follow
        // a redirection without the cookie.
        return connection->reply(page({{"Set-Cookie", gate_->cookie()}}));
      case Verdict::welcome:
        break;
    }
    const std::string_view path = path_of(target);
    if (request.method() == boost::beast::http::verb::get) return get(path, target, connection);
    if (request.method() != boost::beast::http::verb::post)
      return refuse(405, "only GET and POST are supported");
    if (!field("Content-Type").starts_with("application/json"))
      return refuse(415, "the content type must be application/json");
    try {
      post(path, request.body(), connection);
    } catch (const json::exception&) {
      refuse(400, "the request must be a JSON object with the key tab");
    }
  }

  Reply page(std::vector<std::pair<std::string, std::string>> fields = {}) const {
    return {.type = "text/html; charset=utf-8",
            .body = analysis::explore_page(options_.scenario),
            .fields = std::move(fields)};
  }

  void get(std::string_view path, std::string_view target,
           const std::shared_ptr<Connection>& connection) {
    constexpr std::string_view results = "/results/";
    if (path == "/") return connection->reply(page());
    if (path == "/api/form")
      return connection->reply({.type = "application/json", .body = form_json(workspace_)});
    if (path == "/favicon.ico") return connection->reply({.status = 204});
    if (path.starts_with(results)) {
      const std::string name(path.substr(results.size()));
      for (const auto& [extension, type] : types)
        if (std::optional<std::string> content = results_.read(name, extension)) {
          Reply reply{.type = std::string(type), .body = std::move(*content)};
          if (!query_value(target, "download").empty())
            reply.fields.emplace_back("Content-Disposition", "attachment");
          return connection->reply(std::move(reply));
        }
    }
    connection->reply({.status = 404, .body = "not found\n"});
  }

  void post(std::string_view path, const std::string& body,
            const std::shared_ptr<Connection>& connection) {
    const json message = json::parse(body, nullptr, false);
    const std::string tab = message.is_object() ? message.value("tab", "") : "";
    if (tab.empty() || tab.size() > 64)
      return connection->reply(
          {.status = 400, .body = "the request must be a JSON object with the key tab\n"});
    if (path == "/api/stop") {
      for (const Route& route : routes_) children_.cancel_slot(tab + "/" + route.slot);
      return connection->reply({.type = "application/json", .body = "{}"});
    }
    const auto route = std::ranges::find(routes_, path, &Route::path);
    if (route == routes_.end() || route->answer == nullptr)
      return connection->reply({.status = 404, .body = "not found\n"});
    std::vector<std::string> stored;
    for (const json& id : message.value("keep", json::array()))
      stored.push_back(id.get<std::string>());
    const std::string id = results_.make(tab, stored);
    start(*route, {body, id}, tab, connection);
  }

  void start(const Route& route, Question question, const std::string& tab,
             const std::shared_ptr<Connection>& connection) {
    const auto number = std::make_shared<std::uint64_t>(0);
    connection->begin_lines([this, number] { children_.cancel(*number); });
    *number = children_.start(
        {.slot = fmt::format("{}/{}", tab, route.slot),
         .body =
             [workspace = workspace_, route, question = std::move(question)](const SendLine& send) {
               std::vector<std::filesystem::path> folders = config::library_folders();
               folders.insert(folders.begin(), workspace.project);
               if (route.reads_results) folders.push_back(workspace.results);
               config::read_only_within(folders);
               process::limit_memory(three_quarters_of_memory());
               route.answer(question, workspace, send);
             },
         .on_line = [connection](const std::string& line) { connection->line(line); },
         .on_end =
             [connection](const std::optional<std::string>& failure) {
               if (failure) {
                 const json line{{*failure == superseded ? "superseded" : "failure", *failure}};
                 connection->line(line.dump(-1, ' ', false, json::error_handler_t::replace));
               }
               connection->end_lines();
             }});
  }

  tcp::acceptor acceptor_;
  const Options& options_;
  Results results_;
  Workspace workspace_;
  std::array<Route, 6> routes_;
  std::optional<Gate> gate_;
  std::list<std::weak_ptr<Connection>> connections_;
  Children children_;
};

}  // namespace

void serve(const Options& options) {
  net::io_context context(1);
  std::signal(SIGPIPE, SIG_IGN);
  net::signal_set signals(context, SIGINT, SIGTERM, SIGHUP);
  signals.async_wait([&](const boost::system::error_code&, int) { context.stop(); });
  try {
    Server server(context, options);
    options.ready(server.gate().address(), server.gate().launch_address());
    context.run();
  } catch (const boost::system::system_error& error) {
    throw std::runtime_error(fmt::format("cannot listen at {} port {}: {}", options.host,
                                         options.port, error.code().message()));
  }
}

}  // namespace pipewright::serve
