#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# serve.py PROGRAM PROMTOOL: gpuexec serve as seen by clients, good and bad, and gpuexec top. The
# metrics are read by a strict parser of the format, and by promtool: the one on the PATH, otherwise
# PROMTOOL.
import fcntl
import http.client
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

PROGRAM = sys.argv[1]
PROMTOOL = shutil.which("promtool") or sys.argv[2]
MANY = 1000  # connections
WIDTH = 80  # of the terminal
TOKEN = "a-secret"
PATIENCE = 120  # seconds, for what a busy machine does in one
failures = []


def expect(what, ok, got=""):
    print(f"{'ok   ' if ok else 'FAIL '} {what}" + ("" if ok else f": {got!r}"), flush=True)
    if not ok:
        failures.append(what)


def equal(what, got, wanted):
    expect(what, got == wanted, f"{got!r}, not {wanted!r}")


class Server:
    """A gpuexec serve on a port of its own."""

    def __init__(self, *options, listen="127.0.0.1:0", env=None, folder=None):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", listen, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}, cwd=folder)
        self.url = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://(.+):(\d+)/", self.url)
        if not match:
            raise SystemExit(f"serve says {self.url!r} {self.process.stderr.read()!r}")
        self.port = int(match[2])

    def get(self, path, method="GET", headers=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            c.request(method, path, headers=headers or {})
            answer = c.getresponse()
            return answer.status, answer.read().decode(), dict(answer.getheaders())
        finally:
            c.close()

    def status(self):
        return json.loads(self.get("/status.json")[1])

    def rest(self, jobs):
        """Waits until so many jobs are done and counted, and a later snapshot is the same."""
        deadline, before = time.time() + PATIENCE, None
        while time.time() < deadline:
            status = self.status()
            now = status["stats"], status["operations"]
            if min(now[0]["jobs_done"], sum(o["jobs"] for o in now[1])) >= jobs and now == before:
                break
            before = now
            time.sleep(0.15)  # a snapshot is kept for a tenth of a second

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def say(self, data):
        """Everything that is answered to these bytes until the connection ends."""
        answer = b""
        with self.socket() as s:
            s.sendall(data)
            while part := s.recv(65536):
                answer += part
        return answer

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.process.stderr.close()


# ---- the text format ----

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9]+(?:\.[0-9]+)?)")


def parse(text):
    """The series of an exposition, {name{labels}: value}; raises where a line is not right."""
    series, types, current, helped = {}, {}, None, None
    if not text.endswith("\n"):
        raise ValueError("no end of line at the end")
    for line in text[:-1].split("\n"):
        if match := re.fullmatch(rf"# HELP ({NAME}) (\S.*)", line):
            helped = match[1]
            if helped in types:
                raise ValueError(f"{helped} comes twice")
        elif match := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge|histogram)", line):
            current = match[1]
            if current != helped:
                raise ValueError(f"{current} has no help")
            types[current] = match[2]
            if (match[2] == "counter") != current.endswith("_total"):
                raise ValueError(f"{current} is a {match[2]}")
        elif match := SAMPLE.fullmatch(line):
            key = match[1] + (match[2] or "")
            names = [current + s for s in ("_bucket", "_sum", "_count")] if types[current] == "histogram" else [current]
            if match[1] not in names or key in series:
                raise ValueError(f"out of place: {line}")
            series[key] = float(match[3]), "counter" if types[current] == "histogram" else types[current]
        else:
            raise ValueError(f"not in the format: {line}")
    return series


def test_parser():
    """It must find what is wrong."""
    good = '# HELP a_total x\n# TYPE a_total counter\na_total{b="c\\"d"} 1\n'
    parse(good)
    for bad in (good[:-1], good + good, good.replace("counter", "gauge"), good.replace("# HELP a_total x\n", ""),
                good.replace('\\"', '"'), good.replace(" 1", " x"), good + "a_total{b=\"c\\\"d\"} 2\n",
                good + "c 1\n", good.replace("{", "{,")):
        try:
            parse(bad)
            expect("the parser finds mistakes", False, bad)
        except ValueError:
            pass


def promtool(text):
    if not os.path.exists(PROMTOOL):
        expect("promtool (scripts/fetch-promtool.sh build/promtool gets it)", False, PROMTOOL)
        return
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    equal("promtool", (done.returncode, done.stdout + done.stderr), (0, ""))


# What a number of /status.json is called in /metrics, and by how much it is divided.
STATS = {"jobs_done": 'gpuexec_jobs_totalresult="done"', "jobs_failed": 'gpuexec_jobs_totalresult="failed"',
         "elements": "gpuexec_elements_total", "bytes_read": "gpuexec_read_bytes_total",
         "bytes_written": "gpuexec_written_bytes_total", "compute_ns": "gpuexec_compute_seconds_total",
         "dispatches": "gpuexec_dispatches_total", "pool_hits": 'gpuexec_pool_requests_totalresult="hit"',
         "pool_misses": 'gpuexec_pool_requests_totalresult="miss"', "pool_bytes": "gpuexec_pool_bytes",
         "device_bytes": "gpuexec_device_memory_bytes", "device_bytes_peak": "gpuexec_device_memory_peak_bytes",
         "command_hits": 'gpuexec_command_requests_totalresult="hit"',
         "command_misses": 'gpuexec_command_requests_totalresult="miss"',
         "tickets_submitted": "gpuexec_tickets_submitted_total", "tickets_done": "gpuexec_tickets_done_total",
         "tickets_cancelled": "gpuexec_tickets_cancelled_total", "jobs_waiting": "gpuexec_jobs_waiting",
         "validation_messages": "gpuexec_validation_messages_total", "decisions": "gpuexec_decisions_total",
         "decisions_default": "gpuexec_decisions_default_total", "decisions_split": "gpuexec_decisions_split_total",
         "decisions_explored": "gpuexec_decisions_explored_total", "routed_ns": "gpuexec_routed_seconds_total",
         "routed_best_ns": "gpuexec_routed_best_seconds_total", "sampled": "gpuexec_sampled_elements_total",
         "mismatches": "gpuexec_mismatches_total", "fallbacks": "gpuexec_fallbacks_total",
         "decisions_predicted": "gpuexec_decisions_predicted_total", "record_ns": "gpuexec_record_seconds_total",
         "submit_ns": "gpuexec_submit_seconds_total", "open_ns": "gpuexec_open_seconds_total",
         "compile_ns": "gpuexec_compile_seconds_total", "tables_ns": "gpuexec_tables_seconds_total"}


def test_numbers():
    """A workload that ends: monotone while it runs, exact when it is at rest."""
    jobs, sizes = 300, (1000, 20000)
    server = Server("--jobs", str(jobs), "--rate", "150", "--op", "mul", "--sizes", ",".join(map(str, sizes)))
    before, grew, deadline = {}, 0, time.time() + PATIENCE
    while time.time() < deadline:
        series = parse(server.get("/metrics")[1])
        for key, (value, kind) in series.items():
            if kind == "counter" and value < before.get(key, (0, ""))[0]:
                expect("counters only grow", False, key)
        done = series['gpuexec_jobs_totalresult="done"'][0]
        grew += done > before.get('gpuexec_jobs_totalresult="done"', (0, ""))[0]
        before = series
        if done >= jobs:
            break
        time.sleep(0.05)
    expect("scraped while it ran", grew >= 3, grew)
    server.rest(jobs)
    text, status = server.get("/metrics")[1], server.status()
    series = parse(text)
    promtool(text)
    stats = status["stats"]
    equal("every counter is there", sorted(stats), sorted([*STATS, "buckets"]))
    for key, name in STATS.items():
        value = stats[key] / 1e9 if key.endswith("_ns") else stats[key]
        if series[name][0] != value:
            expect(f"{key} at rest", False, (series[name], value))
    equal("jobs", series['gpuexec_jobs_totalresult="done"'][0], jobs)
    elements = sum(sizes[i % len(sizes)] for i in range(jobs))
    equal("elements", series["gpuexec_elements_total"][0], elements)
    equal("bytes", (series["gpuexec_read_bytes_total"][0], series["gpuexec_written_bytes_total"][0]),
          (elements * 96, elements * 48))
    equal("elements of the device", series['gpuexec_device_elements_totaldevice="cpu"'][0], elements)
    of_jobs = 'device="cpu",op="mul",field="bls12-381-fq"'
    equal("jobs of the operation", series["gpuexec_job_duration_seconds_count" + of_jobs][0], jobs)
    equal("all have waited", series["gpuexec_job_wait_seconds_count" + of_jobs][0], jobs)
    equal("its elements", series["gpuexec_job_elements_total" + of_jobs][0], elements)
    equal("health", series['gpuexec_device_healthdevice="cpu",state="good"'][0], 1)
    top = subprocess.run([PROGRAM, "top", "--once", server.url], capture_output=True, text=True, check=False)
    equal("top --once", (top.returncode, top.stderr), (0, ""))
    expect("top shows the jobs", f"{jobs} done, 0 failed, 0 waiting" in top.stdout, top.stdout)
    expect("top shows the device", re.search(r"(?m)^cpu +good +0 %", top.stdout), top.stdout)
    expect("top is plain text where piped", "\033" not in top.stdout, top.stdout)
    equal("SIGINT ends it", server.end(signal.SIGINT), 0)


def quantile(series, labels, q):
    """As PromQL's histogram_quantile, in nanoseconds, over all devices."""
    counts = {}
    for key, (value, _) in series.items():
        if match := re.fullmatch(r'gpuexec_job_duration_seconds_bucketdevice="[^"]*",' + labels + r',le="(.+)"', key):
            bound = float(match[1].replace("+Inf", "inf"))
            counts[bound] = counts.get(bound, 0) + value
    bounds = sorted(counts)
    rank = q * counts[bounds[-1]]
    i = next(i for i, bound in enumerate(bounds) if counts[bound] >= rank)
    if bounds[i] == float("inf"):
        return 1e9 * bounds[i - 1]
    low, below = (bounds[i - 1], counts[bounds[i - 1]]) if i else (0, 0)
    return 1e9 * (low + (bounds[i] - low) * (rank - below) / (counts[bounds[i]] - below))


def time_text(ns):
    """As top and the page write it."""
    unit, value = next((u, ns / f) for u, f, end in (("us", 1e3, 999.5e3), ("ms", 1e6, 999.5e6), ("s", 1e9, 1e99)) if ns < end)
    return f"{value:.{0 if value >= 99.5 else 1 if value >= 9.95 else 2}f} {unit}"


def test_operations():
    """Operations over two fields: the same figures in the metrics, in /status.json and in top."""
    jobs, sizes, kinds = 120, (500, 5000), [(f, o) for f in ("bls12-381-fr", "bls12-381-fq") for o in ("mul", "inv")]
    server = Server("--jobs", str(jobs), "--rate", "120", "--field", "bls12-381-fq,bls12-381-fr", "--op", "mul,inv",
                    "--sizes", ",".join(map(str, sizes)))
    server.rest(jobs)
    series, status = parse(server.get("/metrics")[1]), server.status()
    what = "120 jobs per second of mul, inv over bls12-381-fq, bls12-381-fr, of 500, 5000 elements"
    equal("what the load is", (status["workload"]["running"], status["workload"]["what"]), (True, what))
    equal("operations", sorted((o["field"], o["op"]) for o in status["operations"]), sorted(kinds))
    equal("their jobs are all jobs", sum(o["jobs"] for o in status["operations"]), jobs)
    equal("and their elements all elements", sum(o["elements"] for o in status["operations"]), status["stats"]["elements"])
    expect("all of it is recent", 0 < status["recent_s"] <= status["uptime_s"], status["recent_s"])
    top = subprocess.run([PROGRAM, "top", "--once", server.url], capture_output=True, text=True, check=False).stdout
    for o in status["operations"]:
        labels = f'op="{o["op"]}",field="{o["field"]}"'
        name = f"{o['op']} {o['field']}"
        equal(f"{name}: jobs", (o["jobs"], o["devices"], o["recent"]["jobs"]), (jobs // 4, {"cpu": jobs // 4}, jobs // 4))
        equal(f"{name}: buckets", (sum(o["buckets"]), o["recent"]["buckets"]), (jobs // 4, o["buckets"]))
        wanted = [quantile(series, labels, q) for q in (0.5, 0.99)]
        got = [o["recent"]["p50_ns"], o["recent"]["p99_ns"]]
        expect(f"{name}: p50 and p99", all(abs(a - b) < 1e-6 * b for a, b in zip(got, wanted)), (got, wanted))
        line = rf"(?m)^{o['op']} +{o['field']} +0 +0 elements +{time_text(got[0])} +{time_text(got[1])} +{jobs // 4}$"
        expect(f"{name}: the same in top", re.search(line, top), (line, top))
    expect("top says what the load is", f"\nload      synthetic: {what}\n" in top, top)
    server.end()
    idle = Server("--idle")
    equal("no load", (idle.status()["workload"], idle.status()["operations"]), ({"running": False}, []))
    top = subprocess.run([PROGRAM, "top", "--once", idle.url], capture_output=True, text=True, check=False).stdout
    expect("top says so", "\nload      none\n" in top, top)
    idle.end()
    top = subprocess.run([PROGRAM, "top", "--once", "--op", "msm", "--sizes", "64"], capture_output=True, text=True,
                         check=False).stdout
    expect("sums are of points", re.search(r"(?m)^msm +bls12-381-fr +[0-9.]+ +[0-9.]+( k)? points +", top), top)


def test_regret(jobs, told, devices="sim:gpu-slower-than-cpu,sim:cpu-16-cores", sizes="16K"):
    """Two machines that do not exist, of which one is the faster: what all who ask are told of the choice."""
    server = Server("--device", devices, "--cache-dir", "none", "--jobs", str(jobs),
                    "--rate", "200", "--field", "bn254-fr", "--op", "mul", "--sizes", sizes,
                    folder=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../machines"))
    server.rest(jobs)
    stats, series = server.status()["stats"], parse(server.get("/metrics")[1])
    took, best = stats["routed_ns"], stats["routed_best_ns"]
    expect("decisions that were predicted", took > 0 and best > 0 and 0 < stats["decisions_predicted"] <= stats["decisions"], stats)
    equal("enough of them", stats["decisions_predicted"] >= 100, told)
    equal("the same in the metrics", (series["gpuexec_routed_seconds_total"][0],
                                      series["gpuexec_routed_best_seconds_total"][0]), (took / 1e9, best / 1e9))
    top = subprocess.run([PROGRAM, "top", "--once", server.url], capture_output=True, text=True, check=False)
    ever = f"{100 * (took / best - 1):.1f} %" if told else "-"
    line = f"regret    - now, {ever} overall (estimated)"
    expect(line, line in top.stdout, top.stdout)
    server.end()


def test_history():
    """Who comes later is told what was before: every second, in the numbers of the moment."""
    server = Server("--rate", "50", "--op", "mul", "--sizes", "1K")
    deadline, rows = time.time() + PATIENCE, []
    while len(rows) < 5 and time.time() < deadline:
        time.sleep(0.5)
        history = json.loads(server.get("/history.json")[1])
        rows = history["samples"]
    equal("columns", (history["columns"][:3], history["device_columns"], history["devices"]),
          (["uptime_s", "elements", "jobs_done"], ["elements", "busy_ns", "jobs"], ["cpu"]))
    expect("numbers for each", len(rows) >= 5 and all(len(r) == len(history["columns"]) + 1 and len(r[-1]) == 3 for r in rows), rows)
    expect("time and counters go on", all(a[0] < b[0] and a[1] <= b[1] and a[2] <= b[2] for a, b in zip(rows, rows[1:])), rows)
    expect("elements of the jobs", rows[-1][2] > 0 and rows[-1][-1][0] > 0, rows[-1])
    status = server.status()
    expect("of this process", rows[-1][0] <= status["uptime_s"] and rows[-1][1] <= status["stats"]["elements"], status)
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(3)
    server.process.send_signal(signal.SIGCONT)
    count, deadline = len(rows), time.time() + PATIENCE
    while len(rows) <= count + 1 and time.time() < deadline:
        time.sleep(0.3)
        rows = json.loads(server.get("/history.json")[1])["samples"]
    times = [r[0] for r in rows]
    expect("no second is made up after a stop", all(a < b for a, b in zip(times, times[1:]))
           and max(b - a for a, b in zip(times, times[1:])) > 2.5, times)
    equal("history ends", server.end(), 0)


# ---- clients ----

def test_paths(server):
    status, page, headers = server.get("/")
    equal("page", (status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
    expect("the page names no other place", not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page))
    expect("policy of the page", "connect-src 'self'" in headers["Content-Security-Policy"], headers)
    equal("healthz", server.get("/healthz")[:2], (200, "ok\n"))
    equal("metrics", server.get("/metrics")[2]["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
    equal("HEAD", server.get("/metrics", "HEAD")[:2], (200, ""))
    equal("not found", server.get("/../etc/passwd")[0], 404)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "NONSENSE"):
        status, _, headers = server.get("/metrics", method)
        equal(method, (status, headers.get("Allow")), (405, "GET, HEAD"))
    for host in ("localhost", "127.0.0.1:9", "127.1.2.3", "[::1]", "[::1]:80", "LOCALHOST:1"):
        equal(f"Host: {host}", server.get("/healthz", headers={"Host": host})[0], 200)
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]", "127.evil",
                 "[::1].evil", "[::1]evil:80", "[::1", "localhost:x@evil", "localhost:80@evil", "localhost:", "localhost:123456",
                 "127.0.0.1:80:80", "127.1", "127.0.0.256", "localhost.", " ", "[::1]:", "evil@localhost"):
        equal(f"Host: {host}", server.get("/healthz", headers={"Host": host})[0], 403)
    for host in (b"Host: localhost\r\nHost: evil.example\r\n", b"Host : evil.example\r\n", b""):
        answer = server.say(b"GET /healthz HTTP/1.1\r\n" + host + b"Connection: close\r\n\r\n")
        expect(f"{host} is refused", re.match(rb"HTTP/1\.1 40[03] ", answer), answer)
    for path in ("/metrics%00", "/metrics%00x", "/metrics%", "/metrics%2", "/metric%73%0", "//metrics", "/metrics/"):
        equal(path, server.get(path)[0], 404)
    for query, status in (("a&" * 63, 200), ("a&" * 64, 400), ("a=b&" * 300, 400), ("&" * 4000, 400)):
        equal(f"{query.count('&') + 1} arguments", server.get("/healthz?" + query)[0], status)
    for line in (b"/\0", b"/\0x", b"/metrics\0", b"/\0metrics", b"/metrics?\0", b"/metrics?a=b\0&c=d"):
        answer = server.say(b"GET " + line + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        expect(f"{line} is refused", answer.startswith(b"HTTP/1.1 400 "), answer)
    equal("an escaped letter", server.get("/%6detrics")[0], 200)
    other = subprocess.run([PROGRAM, "serve", "--idle", "--listen", f"127.0.0.1:{server.port}"],
                           capture_output=True, text=True, check=False)
    expect("a port that is taken", other.returncode == 1 and "cannot listen there" in other.stderr, other)


BAD = [b"\0" * 300, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
       b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100000 + b"\r\n\r\n",
       b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
       b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\nabc",
       b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
       b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
       b"GET /%00%ff%zz?token=%00&&&=== HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
       b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200]


def test_bad_requests(server):
    for data in BAD:
        for close in (False, True):
            with server.socket() as s:
                try:
                    s.sendall(data)
                    s.settimeout(0.1)
                    while not close and s.recv(65536):
                        pass
                except OSError:
                    pass  # refused while it was still being sent, or waiting for more
        if server.get("/healthz")[0] != 200:
            expect("after a bad request", False, data[:60])
    expect("alive after bad requests", server.process.poll() is None)


def test_many(server):
    """Connections that say nothing, that say half, that do not read; and then a thousand at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY + 200
    if hard != resource.RLIM_INFINITY and hard < wanted:
        expect("1000 descriptors are allowed here (ulimit -n)", False, hard)
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    slow = [server.socket() for _ in range(60)]
    for i, s in enumerate(slow):
        s.sendall([b"", b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50][i % 3])
    started = time.time()
    equal("answers beside slow clients", server.get("/healthz")[0], 200)
    expect("at once", time.time() - started < 5, time.time() - started)
    jobs = server.status()["stats"]["jobs_done"]
    sockets = [server.socket() for _ in range(MANY)]
    for s in sockets:
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    good = 0
    for s in sockets:
        data = b""
        while part := s.recv(1 << 16):
            data += part
        good += data.startswith(b"HTTP/1.1 200 OK") and data.endswith(b"\n")
        s.close()
    equal(f"{MANY} connections at once", good, MANY)
    deadline = time.time() + PATIENCE
    while server.status()["stats"]["jobs_done"] <= jobs and time.time() < deadline:
        time.sleep(0.1)
    expect("the jobs went on", server.status()["stats"]["jobs_done"] > jobs)
    return slow  # still open when the server ends


def test_token():
    for listen in ("0.0.0.0:0", "[::]:0"):
        done = subprocess.run([PROGRAM, "serve", "--listen", listen], capture_output=True, text=True, check=False,
                              env={k: v for k, v in os.environ.items() if k != "GPUEXEC_SERVE_TOKEN"})
        expect(f"{listen} needs a token", done.returncode == 2 and "a token is required" in done.stderr, done)
    for listen in ("127.0.0.1", "127.0.0.1:99999", ":80", "nowhere.invalid:80", "127.0.0.1:x", "127.0.0.1:1K"):
        done = subprocess.run([PROGRAM, "serve", "--listen", listen], capture_output=True, text=True, check=False)
        expect(f"--listen {listen}", done.returncode == 2 and "not an address and port" in done.stderr, done)
    server = Server("--idle", listen="0.0.0.0:0", env={"GPUEXEC_SERVE_TOKEN": TOKEN})
    for path in ("/", "/metrics", "/status.json", "/history.json", "/healthz", "/other"):
        status, _, headers = server.get(path)
        equal(f"{path} without the token", (status, headers.get("WWW-Authenticate")), (401, "Bearer"))
    for wrong in ("", "x", TOKEN[:-1], TOKEN + "x", TOKEN * 2, TOKEN.upper(), "a" * 5000):
        equal(f"token {wrong[:20]!r}", (server.get("/healthz", headers={"Authorization": "Bearer " + wrong})[0],
                                        server.get("/healthz?token=" + wrong)[0]), (401, 401))
    for query in (TOKEN + "%00", TOKEN + "%00zz", "%00" + TOKEN, TOKEN + "%", TOKEN + "%2"):
        equal(f"?token={query}", server.get("/healthz?token=" + query)[0], 401)
    equal("an escaped token", server.get("/healthz?token=%61" + TOKEN[1:])[0], 200)
    equal("another scheme", server.get("/healthz", headers={"Authorization": "Basic " + TOKEN})[0], 401)
    equal("the token", (server.get("/healthz", headers={"Authorization": "Bearer " + TOKEN})[0],
                        server.get("/healthz?token=" + TOKEN)[0]), (200, 200))
    place = f"127.0.0.1:{server.port}"
    good = subprocess.run([PROGRAM, "top", "--once", f"http://{place}/?token={TOKEN}"], capture_output=True, check=False)
    bad = subprocess.run([PROGRAM, "top", "--once", place], capture_output=True, text=True, check=False)
    equal("top with the token", good.returncode, 0)
    expect("top without", bad.returncode == 1 and "a token is required" in bad.stderr, bad)
    look_at_page(server, f"http://{place}/?token={TOKEN}")
    equal("SIGTERM ends it", server.end(), 0)


def look_at_page(server, url):
    """The page in a browser, after its script has run for some seconds."""
    browser = shutil.which("chromium")
    if not browser:
        print("note  no chromium here: the page was not opened")
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                   "--no-first-run", f"--user-data-dir={profile}", "--virtual-time-budget=3000", "--dump-dom"]
        if os.getuid() == 0:
            options.append("--no-sandbox")  # it does not start as root otherwise
        page = subprocess.run([browser, *options, url], capture_output=True, text=True, timeout=PATIENCE, check=False).stdout
    expect("the page has the device", "<small>cpu</small>" in page, page[-2000:])
    equal("and its four charts", page.count("<polyline"), 4)
    expect("and no message", '<p id="message" class="bad" role="status"></p>' in page, page[-2000:])


# ---- top ----

def answer_with(data, hold):
    """A server for one connection that is not a gpuexec serve; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run():
        c, _ = listener.accept()
        c.recv(4096)
        c.sendall(data)
        time.sleep(hold)
        c.close()
        listener.close()
    threading.Thread(target=run, daemon=True).start()
    return listener.getsockname()[1]


def test_top_with_strangers():
    for what, data, hold, message in (
            ("no HTTP", b"hello\r\n\r\n", 0, "not HTTP"), ("an error", b"HTTP/1.0 503 x\r\n\r\n", 0, "status 503"),
            ("no JSON", b"HTTP/1.0 200 OK\r\n\r\n<html>", 0, "not a gpuexec serve"),
            ("another JSON", b"HTTP/1.0 200 OK\r\n\r\n[1]", 0, "not a gpuexec serve"),
            ("silence", b"", 6, "timed out"), ("no end", b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * (2 << 20), 0, "too long")):
        started = time.time()
        done = subprocess.run([PROGRAM, "top", "--once", f"127.0.0.1:{answer_with(data, hold)}"],
                              capture_output=True, text=True, check=False)
        expect(f"top meets {what}", done.returncode == 1 and message in done.stderr.lower() + done.stderr
               and time.time() - started < 5.5, done)
    for url in ("https://127.0.0.1/", "http://", "http://a:b/", "http://[::1/"):
        done = subprocess.run([PROGRAM, "top", url], capture_output=True, text=True, check=False)
        equal(f"top {url}", done.returncode, 2)


def be_shell(start):
    """Starts a program as a shell does, says what the terminal is like when it stops, continues it, and
    ends as it does."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        start()
    if os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]):
        os.tcsetpgrp(0, os.getpgrp())
        os.write(1, b"(stopped %d)" % is_cooked(0))
        os.tcsetpgrp(0, child)
        os.killpg(child, signal.SIGCONT)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(99)


def is_cooked(fd):
    wanted = termios.ICANON | termios.ECHO
    return termios.tcgetattr(fd)[3] & wanted == wanted


class Terminal:
    """gpuexec top in a terminal of its own, with a shell or as all there is in it."""

    def __init__(self, *options, shell=False, **env):
        env = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **env}

        def start():
            os.execve(PROGRAM, [PROGRAM, "top", "--sizes", "1K", *options], env)
        self.out = b""
        self.child, self.fd = pty.fork()
        if not self.child:
            self.fd = 0
            self.resize(24, WIDTH)
            if shell:
                be_shell(start)
            start()

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, until):
        """Everything up to what is waited for, or None where it does not come."""
        deadline = time.time() + PATIENCE
        while time.time() < deadline:
            if (at := self.out.find(until)) >= 0:
                at += len(until)
                seen, self.out = self.out[:at], self.out[at:]
                return seen
            try:
                if select.select([self.fd], [], [], 0.2)[0]:
                    self.out += os.read(self.fd, 65536)
            except OSError:
                break
        return None

    def view(self):
        """The next view, as lines of text."""
        self.read(b"\033[H")
        return plain(self.read(b"\033[J") or b"").split("\r\n")

    def write(self, keys):
        os.write(self.fd, keys)

    def end(self):
        """How it ended, and the rest of what it wrote."""
        self.read(b"no such thing")
        code = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        os.close(self.fd)
        return code, self.out


def plain(out):
    return re.sub(rb"\033\[[0-9;?]*[a-zA-Z]", b"", out).decode()


ENTER, LEAVE = b"\033[?1049h\033[?25l", b"\033[?25h\033[?1049l"


def test_top_terminal():
    """In a terminal: drawn in place, keys, and everything put back."""
    for colour, stop in ((True, b"q"), (False, b"\x03")):
        top = Terminal(NO_COLOR="" if colour else "1")
        expect("the screen is taken", (top.read(ENTER) or b"").endswith(ENTER), top.out)
        first = top.read(b"\033[J") or b""
        equal("colours" if colour else "NO_COLOR", b"\033[1m" in first, colour)
        widest = max(map(len, top.view()))
        expect("no wider than the terminal", 0 < widest <= WIDTH, widest)
        top.write(b"o")
        heads = [line.split()[0] for line in top.view() if line.startswith(("device ", "operation "))]
        equal("o shows operations", heads, ["operation"])
        top.write(b"d")
        heads = [line.split()[0] for line in top.view() if line.startswith(("device ", "operation "))]
        equal("d shows devices", heads, ["device"])
        top.write(stop)
        code, out = top.end()
        equal(f"top ends by {stop!r}", code, 0)
        expect("the screen is put back", out.endswith(LEAVE), out[-80:])


NEVER = ("--interval", "3600")  # views come for another reason than the time


def test_top_narrow():
    top = Terminal(*NEVER)
    top.view()
    for columns in (45, 40, 24):
        top.resize(40, columns)
        view = top.view()
        widest = max(map(len, view))
        expect(f"{columns} columns", 0 < widest <= columns, view)
        equal("all sums are there", [w for w in ("done,", "waiting", "explored", "(estimated)", "fallbacks")
                                     if w not in " ".join(view).split()], [])
        head = next((row.split() for row in view if row.startswith("device")), [])
        cells = next((re.sub(r"(?<=\d) (?=\S)", "", row) for row in view if row.startswith("cpu")), "").split()
        expect("cells are whole", len(head) >= 2 and len(head) == len(cells), (head, cells))
    top.write(b"q")
    equal("narrow top ends", top.end()[0], 0)


def test_top_stops():
    """Ctrl-Z and fg: the terminal is the shell's in between, whatever size it has after."""
    top = Terminal(*NEVER, shell=True)
    top.view()
    expect("keys are read one by one", not is_cooked(top.fd))
    top.write(b"\x1a")
    seen = top.read(b"(stopped 1)") or b""
    expect("stopped, and all put back", LEAVE in seen, (seen, top.out))
    expect("taken again", top.read(ENTER), top.out)
    expect("and drawn", "device" in " ".join(top.view()))
    expect("keys again", not is_cooked(top.fd))
    top.write(b"q")
    equal("top ends after a stop", top.end()[0], 0)
    alone = Terminal(*NEVER)  # there is nobody who would continue it
    alone.view()
    alone.write(b"\x1a")
    expect("Ctrl-Z without a shell", alone.read(LEAVE + ENTER), alone.out)
    alone.write(b"q")
    equal("does not stop it", alone.end()[0], 0)


def test_top_dumb():
    """A terminal that cannot move its cursor."""
    top = Terminal(TERM="dumb")
    seen = (top.read(b"\r\n\r\ngpuexec ") or b"") + (top.read(b"fallbacks\r\n") or b"")
    expect("blocks of lines", seen and b"\033" not in seen, seen)
    top.write(b"\x03")
    equal("and Ctrl-C", top.end()[0], 0)


def test_top_piped():
    top = subprocess.Popen([PROGRAM, "top", "--sizes", "1K"], stdout=subprocess.PIPE, text=True)
    views = 0
    while views < 2:
        views += top.stdout.readline().startswith("gpuexec ")
    top.send_signal(signal.SIGINT)
    top.stdout.read()
    equal("top in a pipe", top.wait(20), 0)
    top.stdout.close()


def test_terminals():
    """Without any, tell at once: most of the tests of top need one."""
    try:
        for fd in pty.openpty():
            os.close(fd)
    except OSError as error:
        sys.exit(f"serve.py: no pseudo terminal here ({error}): mount devpts on /dev/pts")


def main():
    test_terminals()
    # The CPU alone: every element is its own then.
    os.environ["VK_ICD_FILENAMES"] = os.environ["VK_DRIVER_FILES"] = "/nonexistent"
    test_parser()
    server = Server("--rate", "200", "--sizes", "1K")
    test_paths(server)
    test_bad_requests(server)
    held = test_many(server)
    started = time.time()
    equal("ends with connections open", server.end(), 0)
    expect("soon", time.time() - started < 10, time.time() - started)
    del held
    test_numbers()
    test_history()
    test_operations()
    test_regret(40, told=False)  # too few to be told of
    test_regret(120, told=True)
    test_regret(160, told=False, devices="cpu,sim:gpu-slower-than-cpu", sizes="64,65,66,16K")  # most are too small to choose
    test_token()
    test_top_with_strangers()
    test_top_terminal()
    test_top_narrow()
    test_top_stops()
    test_top_dumb()
    test_top_piped()
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
