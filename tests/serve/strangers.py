#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# strangers.py PROGRAM PROMTOOL: gpuexec serve among 2,000 connections that are slow on purpose.
# Some send a request byte by byte, some send nothing, some do not read the reply. Clients with the
# token are answered all the time, and no slow connection stays.
import os
import resource
import select
import sys
import time

from serve import Server, equal, expect, failures

STRANGERS = 2000
TOKEN = "a-secret"
PATIENCE = 120  # seconds until something must have happened; nothing here is a measurement
DRIP = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"y" * 10000
GREEDY = f"GET /?token={TOKEN} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 300


class Stranger:
    def __init__(self, server, number):
        self.socket = server.socket()
        self.socket.setblocking(False)
        self.text, self.sent, self.open = [DRIP, DRIP, b""][number % 3], 0, True

    def go_on(self):
        """Sends the next byte; notices where it was closed."""
        try:
            if self.sent < len(self.text):
                self.sent += self.socket.send(self.text[self.sent:self.sent + 1])
            if self.socket.recv(4096) == b"":
                self.open = False
        except BlockingIOError:
            pass
        except OSError:
            self.open = False

    def close(self):
        self.socket.close()


def allow_files(wanted):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        print(f"only {hard} descriptors are allowed here (ulimit -Hn): skipped")
        sys.exit(77)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def ask(server, what):
    """As one who has the token, each time on a new connection; and one who has not is refused."""
    bearer = {"Authorization": "Bearer " + TOKEN}
    for path in ("/healthz", "/metrics", "/status.json", "/"):
        equal(f"{path} {what}", server.get(path, headers=bearer)[0], 200)
    equal(f"no token {what}", server.get("/healthz")[0], 401)


def test_slow(server):
    keeper = server.socket()  # was answered once, and keeps its connection
    question = f"GET /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    strangers = []
    for i in range(STRANGERS):
        strangers.append(Stranger(server, i))
        strangers[-1].go_on()
        if i % 200 == 0:
            keeper.sendall(question)
            expect(f"an old connection beside {i}", keeper.recv(4096).startswith(b"HTTP/1.1 200 "))
    keeper.close()
    ask(server, f"beside {STRANGERS} strangers")
    deadline = time.time() + PATIENCE
    while any(s.open for s in strangers) and time.time() < deadline:
        for s in strangers:
            if s.open:
                s.go_on()
        ask(server, "while they go on")
        time.sleep(2)
    equal("all of them were sent away", sum(s.open for s in strangers), 0)
    for s in strangers:
        s.close()


def take_nothing(server):
    """A connection that asks and asks, and takes no answer."""
    s = server.socket()
    s.setblocking(False)
    sent = 0
    try:
        while sent < 64 << 20:
            sent += s.send(GREEDY)
    except BlockingIOError:
        pass
    return s


def test_not_taken(s):
    poll = select.poll()
    poll.register(s, select.POLLRDHUP)
    expect("who takes no answer is sent away", poll.poll(PATIENCE * 1000))
    s.close()


def main():
    os.environ["VK_ICD_FILENAMES"] = os.environ["VK_DRIVER_FILES"] = "/nonexistent"
    allow_files(STRANGERS + 200)
    server = Server("--idle", env={"GPUEXEC_SERVE_TOKEN": TOKEN})
    taker = take_nothing(server)
    test_slow(server)
    test_not_taken(taker)
    ask(server, "after that")
    equal("ends", server.end(), 0)
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
