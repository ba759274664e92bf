#include "sim/serve/connection.hpp"

#include <array>
#include <chrono>

#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <sys/socket.h>

namespace pipewright::serve {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::chrono::seconds patience{
    30};  // time limit of a request, and of a client that reads an answer

// HTTP headers of all answers: answers must not be cached, and pages of other sites must not embed
// or read them.
constexpr std::array<std::pair<const char*, const char*>, 5> common_headers{
    {{"Cache-Control", "no-store"},
     {"X-Content-Type-Options", "nosniff"},
     {"X-Frame-Options", "SAMEORIGIN"},
     {"Referrer-Policy", "no-referrer"},
     {"Cross-Origin-Resource-Policy", "same-origin"}}};

template <class Response>
void add_fields(Response& response) {
  for (const auto& [name, value] : common_headers) response.set(name, value);
}

std::string chunk_of(const std::string& text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

}  // namespace

Connection::Connection(boost::asio::ip::tcp::socket socket, Handler handler)
    : stream_(std::move(socket)), handler_(std::move(handler)) {}

void Connection::read() {
  is_idle_ = true;
  parser_.emplace();
  parser_->body_limit(max_body);
  parser_->header_limit(max_head);
  stream_.expires_after(patience);
  http::async_read(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](const beast::error_code& failed, std::size_t) {
        if (failed == http::error::body_limit) return self->refuse(413, "the request is too large");
        if (failed == http::error::header_limit)
          return self->refuse(431, "the head of the request is too large");
        if (failed.category() == http::make_error_code(http::error::bad_version).category() &&
            failed != http::error::end_of_stream && failed != http::error::partial_message)
          return self->refuse(400, "not an HTTP request");
        if (failed) return self->close();
        self->is_idle_ = false;
        self->keep_alive_ = self->parser_->get().keep_alive();
        self->handler_(self->parser_->get(), self);
      });
}

void Connection::refuse(unsigned status, const std::string& reason) {
  keep_alive_ = false;
  reply({.status = status, .body = reason + "\n"});
}

void Connection::reply(Reply reply) {
  auto response = std::make_shared<http::response<http::string_body>>();
  response->result(reply.status);
  response->version(11);
  add_fields(*response);
  response->set(http::field::content_type, reply.type);
  for (const auto& [name, value] : reply.fields) response->set(name, value);
  response->keep_alive(keep_alive_);
  response->body() = std::move(reply.body);
  response->prepare_payload();
  stream_.expires_after(patience);
  http::async_write(
      stream_, *response,
      [self = shared_from_this(), response](const beast::error_code& failed, std::size_t) {
        if (failed || !self->keep_alive_) return self->close();
        self->read();
      });
}

void Connection::begin_lines(std::function<void()> on_close) {
  http::response<http::empty_body> head;
  head.result(http::status::ok);
  head.version(11);
  add_fields(head);
  head.set(http::field::content_type, "application/x-ndjson");
  head.chunked(true);
  head.keep_alive(keep_alive_);
  unsent_.push_back(fmt::format("HTTP/1.1 200 OK\r\n"));
  for (const auto& field : head)
    unsent_.back() +=
        fmt::format("{}: {}\r\n", std::string(field.name_string()), std::string(field.value()));
  unsent_.back() += "\r\n";
  on_close_ = std::move(on_close);
  ended_ = false;
  stream_.expires_never();
  write_next();
  watch();
}

// Closes the connection if the browser disconnects before its answer is complete. A browser sends
// nothing until then, so a readable socket means that it has disconnected.
void Connection::watch() {
  stream_.socket().async_wait(boost::asio::ip::tcp::socket::wait_read,
                              [weak = weak_from_this()](const beast::error_code& failed) {
                                const std::shared_ptr<Connection> self = weak.lock();
                                if (!self || self->ended_) return;
                                char byte = 0;
                                const ssize_t count =
                                    failed ? 0
                                           : recv(self->stream_.socket().native_handle(), &byte, 1,
                                                  MSG_PEEK | MSG_DONTWAIT);
                                if (count == 0) self->close();
                              });
}

void Connection::line(const std::string& text) {
  if (ended_) return;
  unsent_.push_back(chunk_of(text + "\n"));
  write_next();
}

void Connection::end_lines() {
  if (ended_) return;
  ended_ = true;
  on_close_ = nullptr;
  unsent_.emplace_back("0\r\n\r\n");
  write_next();
}

void Connection::write_next() {
  if (writing_ || unsent_.empty()) return;
  writing_ = true;
  boost::asio::async_write(
      stream_, boost::asio::buffer(unsent_.front()),
      [self = shared_from_this()](const beast::error_code& failed, std::size_t) {
        self->writing_ = false;
        if (failed) return self->close();
        self->unsent_.pop_front();
        if (!self->unsent_.empty()) return self->write_next();
        if (!self->ended_) return;
        if (!self->keep_alive_) return self->close();
        beast::error_code ignored;
        self->stream_.socket().cancel(ignored);  // ends watch()
        self->read();
      });
}

void Connection::close() {
  ended_ = true;
  unsent_.clear();
  beast::error_code ignored;
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
  if (const std::function<void()> on_close = std::exchange(on_close_, nullptr)) on_close();
}

}  // namespace pipewright::serve
