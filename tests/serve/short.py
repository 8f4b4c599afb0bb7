#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# short.py PROGRAM: gpuexec serve where serve.py does not run: what it answers, to whom, to many at
# once, gpuexec top --once, and how it ends.
import http.client
import json
import re
import signal
import socket
import subprocess
import sys

PROGRAM = sys.argv[1]
MANY = 200  # connections, more than select of Windows takes by default
failures = []


def equal(what, got, wanted):
    ok = got == wanted
    print(f"{'ok   ' if ok else 'FAIL '} {what}" + ("" if ok else f": {got!r}, not {wanted!r}"), flush=True)
    if not ok:
        failures.append(what)


def start(*options):
    process = subprocess.Popen([PROGRAM, "serve", "--device", "cpu", "--listen", "127.0.0.1:0", *options],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    url = process.stdout.readline().strip()
    match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", url)
    if not match:
        raise SystemExit(f"serve says {url!r} {process.stderr.read()!r}")
    return process, int(match[1])


def get(port, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def end(what, process):
    process.send_signal(signal.SIGINT)
    equal(what, process.wait(60), 0)


process, port = start("--field", "u32", "--op", "add")
equal("/healthz", get(port, "/healthz"), (200, "ok\n"))
status, text = get(port, "/metrics")
samples = [line for line in text.splitlines() if not line.startswith("#")]
equal("/metrics", status, 200)
equal("every sample is one", [s for s in samples if not re.fullmatch(r"gpuexec_\w+(\{.+\})? \S+", s)], [])
equal("the devices", "gpuexec_device_info" in text and 'device="cpu"' in text, True)
status, text = get(port, "/status.json")
equal("/status.json", (status, [d["device"] for d in json.loads(text)["devices"]][:1]), (200, ["cpu"]))
equal("no such page", get(port, "/none")[0], 404)
equal("another host's name", get(port, "/healthz", Host="example.com")[0], 403)

sockets = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(MANY)]
for s in sockets:
    s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
answers = [b"".join(iter(lambda s=s: s.recv(4096), b"")) for s in sockets]
equal("many at once", sum(a.startswith(b"HTTP/1.1 200") for a in answers), MANY)

top = subprocess.run([PROGRAM, "top", "--once", f"127.0.0.1:{port}"], capture_output=True, text=True, timeout=60)
equal("top", (top.returncode, top.stderr, bool(re.search(r"^cpu +good", top.stdout, re.M))), (0, "", True))
second = subprocess.run([PROGRAM, "serve", "--idle", "--device", "cpu", "--listen", f"127.0.0.1:{port}"],
                        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
equal("a port that is taken", (second.returncode, second.stderr.startswith("gpuexec: --listen")), (1, True))
end("Ctrl-C ends it", process)
equal("nothing else was said", process.stderr.read().count("\n"), 1)

process, port = start("--idle", "--token", "secret")
equal("without the token", get(port, "/metrics")[0], 401)
equal("with it", get(port, "/metrics", Authorization="Bearer secret")[0], 200)
end("Ctrl-C ends it", process)

nobody = subprocess.run([PROGRAM, "top", "--once", f"127.0.0.1:{port}"], capture_output=True, text=True, timeout=60)
equal("top without a server", (nobody.returncode, nobody.stderr.startswith("gpuexec: ")), (1, True))
sys.exit(1 if failures else 0)
