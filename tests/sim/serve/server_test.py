"""Tests of the server of `pipewright serve` with requests of the page and of attackers.

usage: server_test.py PIPEWRIGHT
"""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = str(pathlib.Path(sys.argv.pop()).resolve())
SCENARIO = """cluster: dgx-h100-8
model: llama-3-70b
parallel: {tp: 8, pp: 4, dp: 2, sp: true, zero: 1}
schedule: 1f1b
global_batch: 32
"""


class Server:
    # `opens`: a folder with the program xdg-open, which then opens the page.
    def __init__(self, *words, host="127.0.0.1", opens=None):
        self.folder = tempfile.TemporaryDirectory()
        base = pathlib.Path(self.folder.name)
        self.root = base / "project"
        self.results = base / "tmp"
        self.root.mkdir()
        self.results.mkdir()
        (base / "outside.yaml").write_text("secret: 1\n")
        (self.root / "link.yaml").symlink_to(base / "outside.yaml")
        self.process = subprocess.Popen(
            [PROGRAM, "serve", *([] if opens else ["--no-browser"]), "--host", host, *words],
            cwd=self.root,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(self.results), "DISPLAY": ":none",
                 "PATH": f"{opens}:{os.environ['PATH']}" if opens else os.environ["PATH"]},
        )
        self.process.stdout.readline()
        address = self.process.stdout.readline().strip()
        self.host = host
        name = re.escape(f"[{host}]" if ":" in host else host)
        self.port, self.token = re.fullmatch(
            rf"http://{name}:(\d+)/\?token=([0-9a-f]{{32}})", address
        ).groups()
        self.port = int(self.port)

    def ask(self, method, path, body=None, **fields):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        head = {"X-Pipewright-Token": self.token, "Content-Type": "application/json"}
        head.update({name.replace("_", "-"): value for name, value in fields.items()})
        try:
            connection.request(method, path, body, {k: v for k, v in head.items() if v is not None})
            answer = connection.getresponse()
            return answer, answer.read()
        finally:
            connection.close()

    def lines(self, kind, **question):
        answer, content = self.ask("POST", f"/api/{kind}", json.dumps({"tab": "t", **question}))
        assert answer.status == 200, content
        found = {}
        for line in content.decode().splitlines():
            found.update(json.loads(line))
        return found

    def children(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return pathlib.Path(path).read_text().split()

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(10)
        self.process.stdout.close()
        self.folder.cleanup()


def is_alive(process):
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def status(self, *words, **fields):
        return self.server.ask(*words, **fields)[0].status

    def test_every_request_needs_the_token(self):
        for path in ("/", "/api/form", "/results/r1.html", "/nothing"):
            for token in (None, "", "0" * 32, self.server.token[:-1]):
                self.assertEqual(self.status("GET", path, X_Pipewright_Token=token), 401)
        for kind in ("run", "what-if", "compare", "launch", "stop"):
            self.assertEqual(self.status("POST", f"/api/{kind}", "{}", X_Pipewright_Token=None), 401)

    def test_the_address_gives_a_cookie_that_opens_the_page(self):
        answer, _ = self.server.ask("GET", f"/?token={self.server.token}", X_Pipewright_Token=None)
        # The page itself: after a click on another site, browsers follow a redirection without cookie.
        self.assertEqual((answer.status, answer.headers["Location"]), (200, None))
        cookie = answer.headers["Set-Cookie"]
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite=Strict", cookie)
        answer, page = self.server.ask(
            "GET", "/", X_Pipewright_Token=None, Cookie=cookie.split(";")[0]
        )
        self.assertEqual(answer.status, 200)
        self.assertIn(b"<title>", page)
        self.assertNotIn(b"http://", page.replace(b"http://www.w3.org", b""))
        self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")
        self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])

    def test_a_link_of_another_site_opens_the_page(self):
        answer, page = self.server.ask("GET", f"/?token={self.server.token}", X_Pipewright_Token=None,
                                       Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
        self.assertEqual(answer.status, 200)
        self.assertIn(b"<title>", page)

    def test_half_open_connections_lock_nobody_out(self):
        place = ("127.0.0.1", self.server.port)
        half_open = [socket.create_connection(place) for _ in range(80)]
        try:
            for connection in half_open:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
            began = time.monotonic()
            for _ in range(3):
                self.assertEqual(self.status("GET", "/"), 200)
            self.assertLess(time.monotonic() - began, 2)
        finally:
            for connection in half_open:
                connection.close()

    def test_a_hundred_hostile_requests_give_nothing(self):
        token, own = self.server.token, f"127.0.0.1:{self.server.port}"
        paths = ["/", "/api/form", "/api/run", "/results/r1.html", "/results/r1-0.h5"]
        heads = [
            {},
            {"Cookie": ""},
            {"Cookie": f"pipewright-1={token}"},
            {"Cookie": f"xpipewright-{self.server.port}={token}"},
            {"Cookie": f"pipewright-{self.server.port}={token[:-1]}"},
            {"Cookie": f"pipewright-{self.server.port}={token.upper()}x"},
            {"X-Pipewright-Token": token[::-1]},
            {"X-Pipewright-Token": f"{token} x"},
            {"X-Pipewright-Token": f'"{token}"'},
            {"Authorization": f"token {token}"},
            {"X-Pipewright-Token": token, "Host": "evil.example"},
            {"X-Pipewright-Token": token, "Host": f"evil.example:{self.server.port}"},
            {"X-Pipewright-Token": token, "Host": f"{own}.evil.example"},
            {"X-Pipewright-Token": token, "Host": "127.0.0.1"},
            {"X-Pipewright-Token": token, "Host": ""},
            {"X-Pipewright-Token": token, "Origin": "null"},
            {"X-Pipewright-Token": token, "Origin": "http://evil.example"},
            {"X-Pipewright-Token": token, "Origin": f"https://{own}"},
            {"X-Pipewright-Token": token, "Sec-Fetch-Site": "cross-site"},
            {"X-Pipewright-Token": token, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
        ]
        for path in paths:
            for head in heads:
                fields = {"X_Pipewright_Token": None, "Content_Type": None}
                fields |= {name.replace("-", "_"): value for name, value in head.items()}
                answer, content = self.server.ask("GET", path, **fields)
                self.assertIn(answer.status, (400, 401, 403, 421), (path, head))
                self.assertNotIn(token.encode(), content)
                self.assertIsNone(answer.headers["Set-Cookie"])

    def test_the_token_is_accepted_in_the_address_of_the_page_only(self):
        for path in ("/api/form", "/results/r1.html", "//", "/index.html"):
            asked = self.server.ask("GET", f"{path}?token={self.server.token}", X_Pipewright_Token=None)
            self.assertEqual(asked[0].status, 401)

    def test_errors_keep_their_words(self):
        found = self.server.lines("launch", text=SCENARIO, framework="jax")
        self.assertEqual(found["failure"], "there is no framework of this name")
        found = self.server.lines("launch", text=SCENARIO + "nonsense: 3\n", framework="megatron")
        self.assertIn("unknown key 'nonsense'", found["failure"])
        for kind in ("what-if", "compare"):
            found = self.server.lines(kind, id="r999", variants=[{"id": "r999", "name": "A"}])
            self.assertEqual(found["failure"], "this result is no longer stored; run it again")
        found = self.server.lines("search", text=SCENARIO + "search: {objective: luck}\n")
        self.assertIn("luck", found["failure"])
        found = self.server.lines("goodput", text="devices: 2\n")
        self.assertNotIn("its process", found["failure"])

    def test_other_host_names_and_other_sites_are_refused(self):
        self.assertEqual(self.status("GET", "/", Host="evil.example"), 421)
        self.assertEqual(self.status("GET", "/", Host=f"evil.example:{self.server.port}"), 421)
        self.assertEqual(self.status("GET", "/", Origin="http://evil.example"), 403)
        self.assertEqual(self.status("GET", "/", Sec_Fetch_Site="cross-site"), 403)
        self.assertEqual(
            self.status("POST", "/api/run", '{"tab": "t"}', Content_Type="text/plain"), 415
        )

    def test_it_listens_only_at_the_loopback_address(self):
        listening = pathlib.Path("/proc/net/tcp").read_text()
        places = re.findall(rf"([0-9A-F]{{8}}):{self.server.port:04X} 00000000:0000 0A", listening)
        self.assertEqual(places, ["0100007F"])

    def test_large_requests_are_refused(self):
        head = f"POST /api/run HTTP/1.1\r\nHost: x\r\nContent-Length: {6 << 20}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.server.port)) as raw:
            raw.sendall(head.encode())
            self.assertIn(b" 413 ", raw.recv(100))
        self.assertEqual(self.status("GET", "/", X_More="x" * (17 << 10)), 431)
        with socket.create_connection(("127.0.0.1", self.server.port)) as raw:
            raw.sendall(b"\x16\x03\x01 what\r\n\r\n")
            self.assertIn(b"400", raw.recv(100))

    def test_invalid_requests_are_refused(self):
        for body in ("", "{", "[]", "3", '{"tab": 3}', '{"tab": ""}'):
            self.assertEqual(self.status("POST", "/api/run", body), 400, body)
        self.assertEqual(self.status("POST", "/api/nothing", '{"tab": "t"}'), 404)
        self.assertEqual(self.status("DELETE", "/"), 405)
        self.assertIn("failure", self.server.lines("run"))
        self.assertIn("failure", self.server.lines("launch", text=SCENARIO, framework="jax"))

    def test_files_outside_of_the_project_are_refused(self):
        for path in ("../outside.yaml", "./link.yaml", "/etc/hostname", "./../project/link.yaml"):
            for key in ("model", "gpu", "cluster", "training.lengths.file"):
                found = self.server.lines("run", text=SCENARIO, edits=[[key, path]])
                self.assertIn("fault", found, (key, path))
                self.assertIn("outside the project folder", found["fault"]["message"])
                self.assertEqual(found["fault"]["key"], key)
        found = self.server.lines("run", text=SCENARIO, edits=[["schedule.name", "../x.csv"]])
        self.assertIn("outside the project folder", found["fault"]["message"])

    def test_paths_outside_of_the_results_are_refused(self):
        for path in ("../../etc/passwd", "..%2f..%2fetc%2fpasswd", "r1.html/../../x", "r1", "x.html"):
            self.assertEqual(self.status("GET", f"/results/{path}"), 404)
        found = self.server.lines("what-if", id="../r1")
        self.assertIn("failure", found)

    def test_a_run_has_figures_a_page_and_a_trace(self):
        found = self.server.lines("run", text=SCENARIO + "output: ../x.html\ntrace: ../x.h5\n")
        self.assertEqual(found["scenario"]["values"]["parallel.tp"], "8")
        run, estimate = found["result"]["runs"][0], found["estimate"][0]
        self.assertGreaterEqual(run["summary"]["makespan_s"], 0.99 * estimate["summary"]["makespan_s"])
        name = found["result"]["id"]
        answer, page = self.server.ask("GET", f"/results/{name}.html")
        self.assertEqual(answer.headers["Content-Type"], "text/html; charset=utf-8")
        self.assertIn(b"llama-3-70b", page)
        _, trace = self.server.ask("GET", f"/results/{name}-0.h5?download=1")
        self.assertTrue(trace.startswith(b"\x89HDF"))
        self.assertEqual(list(self.server.root.parent.glob("x.*")), [], "outputs are not written")

    def test_two_runs_make_a_single_page(self):
        runs = [self.server.lines("run", text=SCENARIO, edits=[["global_batch", batch]])
                for batch in ("16", "32")]
        variants = [{"id": run["result"]["id"], "name": name} for run, name in zip(runs, "AB")]
        page = self.server.lines("compare", variants=variants)["page"]
        _, content = self.server.ask("GET", f"/results/{page}.html")
        self.assertIn(b"A: 1f1b", content)
        self.assertIn(b"B: 1f1b", content)

    def test_launch_flags_match_the_scenario(self):
        launch = self.server.lines("launch", text=SCENARIO, framework="megatron")["launch"]
        self.assertIn("--tensor-model-parallel-size 8", launch["text"])
        self.assertEqual(launch["name"], "launch-megatron.sh")

    def test_a_search_has_a_page_and_the_best_scenario(self):
        edits = [["parallel.tp", "[4, 8]"], ["parallel.dp", "auto"], ["global_batch", "32"]]
        found = self.server.lines("search", text=SCENARIO, edits=edits, budget=60)
        self.assertIn("search", found, found.get("failure"))
        answer = found["search"]
        self.assertIn("proven", answer["text"])
        self.assertNotIn(str(self.server.results), answer["text"])
        _, page = self.server.ask("GET", f"/results/{answer['page']}.html")
        self.assertIn(b"<title>", page)
        self.assertIn("result", self.server.lines("run", text=answer["best"]))

    def test_a_search_reads_no_files_outside_of_the_project(self):
        for path in ("../outside.yaml", "./link.yaml", "/etc/hostname"):
            for key in ("model", "gpu"):
                edits = [[key, path], ["parallel.tp", "[4, 8]"], ["parallel.dp", "auto"]]
                found = self.server.lines("search", text=SCENARIO, edits=edits, budget=20)
                self.assertNotIn("search", found)
                self.assertIn("outside the project folder", found["failure"], (key, path))

    def test_goodput_has_a_page(self):
        found = self.server.lines("goodput", text=SCENARIO, seeds=2)
        self.assertIn("goodput", found, found.get("failure"))
        _, page = self.server.ask("GET", f"/results/{found['goodput']['page']}.html")
        self.assertIn(b"<title>", page)
        self.assertIn("effective training time", found["goodput"]["text"])

    def test_a_new_question_ends_the_previous_one(self):
        first = {}
        slow = threading.Thread(
            target=lambda: first.update(self.server.lines(
                "run", text=SCENARIO, edits=[["global_batch", "65536"]])))
        slow.start()
        time.sleep(0.2)
        self.assertIn("result", self.server.lines("run", text=SCENARIO))
        slow.join(20)
        self.assertIn("superseded", first)

    def test_concurrent_questions_are_answered(self):
        found = []
        def ask(tab):
            answer, content = self.server.ask(
                "POST", "/api/run", json.dumps({"tab": f"tab{tab}", "text": SCENARIO}))
            found.append(answer.status == 200 and b'"result"' in content)
        threads = [threading.Thread(target=ask, args=(tab,)) for tab in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(found, [True] * 8)

    def test_a_closed_connection_ends_its_process(self):
        body = json.dumps({"tab": "gone", "text": SCENARIO, "edits": [["global_batch", "65536"]]})
        raw = socket.create_connection(("127.0.0.1", self.server.port))
        raw.sendall((f"POST /api/run HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
                     f"X-Pipewright-Token: {self.server.token}\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
        self.assertTrue(wait_until(self.server.children))
        raw.close()
        self.assertTrue(wait_until(lambda: not self.server.children()))


def has_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


class Ipv6(unittest.TestCase):
    @unittest.skipUnless(has_ipv6(), "this machine has no IPv6 loopback")
    def test_the_name_of_a_host_stands_for_its_address(self):
        process = subprocess.Popen(
            [PROGRAM, "serve", "--no-browser", "--host", "localhost"],
            stdout=subprocess.PIPE, text=True,
        )
        try:
            process.stdout.readline()
            address = process.stdout.readline().strip()
            self.assertRegex(address, r"^http://(127\.0\.0\.1|\[::1\]):\d+/\?token=[0-9a-f]{32}$")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(10)
            process.stdout.close()

    def test_an_ipv6_address_is_printed_in_brackets_and_serves_the_page(self):
        server = Server(host="::1")
        try:
            answer, page = server.ask("GET", "/", Host=f"[::1]:{server.port}")
            self.assertEqual(answer.status, 200)
            self.assertIn(b"<title>", page)
            self.assertEqual(server.ask("GET", "/", Host=f"[::2]:{server.port}")[0].status, 421)
        finally:
            server.close()


class Browser(unittest.TestCase):
    def test_the_command_line_of_the_browser_has_a_token_for_one_visit(self):
        with tempfile.TemporaryDirectory() as folder:
            opened = pathlib.Path(folder) / "opened"
            browser = pathlib.Path(folder) / "xdg-open"
            browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.new && mv {opened}.new {opened}\n')
            browser.chmod(0o755)
            server = Server(opens=folder)
            try:
                self.assertTrue(wait_until(opened.exists))
                target = "/?" + opened.read_text().strip().partition("/?")[2]
                self.assertNotIn(server.token, target)
                answers = [server.ask("GET", target, X_Pipewright_Token=None)[0] for _ in range(2)]
                self.assertEqual([answer.status for answer in answers], [200, 401])
                self.assertIn(server.token, answers[0].headers["Set-Cookie"])
            finally:
                server.close()


class Ends(unittest.TestCase):
    def end_by(self, which, children_too):
        server = Server()
        try:
            body = json.dumps({"tab": "t", "text": SCENARIO, "edits": [["global_batch", "65536"]]})
            asking = threading.Thread(target=lambda: self.try_to_ask(server, body))
            asking.start()
            self.assertTrue(wait_until(server.children))
            children = server.children()
            began = time.monotonic()
            server.process.send_signal(which)
            server.process.wait(10)
            self.assertLess(time.monotonic() - began, 1)
            asking.join(10)
            self.assertTrue(wait_until(lambda: not any(is_alive(child) for child in children)))
            if children_too:
                self.assertEqual(server.process.returncode, 0)
                self.assertEqual(list(server.results.iterdir()), [])
        finally:
            server.close()

    def try_to_ask(self, server, body):
        try:
            server.ask("POST", "/api/run", body)
        except (OSError, http.client.HTTPException):
            pass

    def test_an_interrupt_ends_the_server_and_its_simulations(self):
        self.end_by(signal.SIGINT, True)

    def test_a_killed_server_ends_its_simulations(self):
        self.end_by(signal.SIGKILL, False)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
