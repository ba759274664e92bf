#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace pipewright::serve {

using Request = boost::beast::http::request<boost::beast::http::string_body>;

inline constexpr std::size_t max_body = 5U << 20U;   // bytes of a request
inline constexpr std::size_t max_head = 16U << 10U;  // bytes of its head
inline constexpr std::size_t max_connections = 64;   // at the same time

// A complete answer.
struct Reply {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> fields = {};
};

// A connection of a browser. Its requests come one after the other; each is answered by a single
// reply, or by lines of text that are sent as they become known.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Handler = std::function<void(const Request&, const std::shared_ptr<Connection>&)>;

  Connection(boost::asio::ip::tcp::socket socket, Handler handler);

  void read();

  void reply(Reply reply);

  // Begins an answer that consists of lines. `on_close` is called if the browser disconnects before
  // end_lines().
  void begin_lines(std::function<void()> on_close);
  void line(const std::string& text);
  void end_lines();

  // Returns whether no request is being answered.
  bool is_idle() const { return is_idle_; }
  void close();

 private:
  void refuse(unsigned status, const std::string& reason);
  void watch();
  void write_next();

  boost::beast::tcp_stream stream_;
  Handler handler_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  bool keep_alive_ = true;
  bool is_idle_ = true;
  // State of an answer that consists of lines.
  std::function<void()> on_close_;
  std::deque<std::string> unsent_;
  bool writing_ = false;
  bool ended_ = true;
};

}  // namespace pipewright::serve
