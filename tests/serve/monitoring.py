#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# monitoring.py PROGRAM PROMTOOL MONITORING: checks the files in MONITORING against a running
# gpuexec serve: every metric and label that the dashboard and the alert rules use exists, every
# expression parses, and each rule fires or not as stated in alerts.yml, next to this file.
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from serve import PROMTOOL, Server, equal, expect, failures

MONITORING = sys.argv[3]
RULES = f"{MONITORING}/alerts.yml"
CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "alerts.yml")
NAME = r"gpuexec_[a-z0-9_]+"


def promtool(*arguments):
    done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def exported():
    """{name: names of its labels}, of a gpuexec serve that has done some jobs."""
    server = Server("--jobs", "5", "--rate", "100", "--op", "mul", "--sizes", "1K")
    server.rest(5)
    names = {}
    for line in server.get("/metrics")[1].splitlines():
        if match := re.match(rf"({NAME})(?:\{{(.*)\}})? ", line):
            labels = re.findall(r'([a-z]+)="(?:[^"\\]|\\.)*"', match[2] or "")
            names.setdefault(match[1], set()).update(labels)
    equal("serve ends", server.end(), 0)
    return names


def dashboard():
    """(title of the panel, expression) of all queries."""
    with open(f"{MONITORING}/grafana-dashboard.json") as file:
        board = json.load(file)
    found = [(p["title"], t["expr"]) for p in board["panels"] for t in p.get("targets", [])]
    expect("the dashboard has queries", len(found) > 20, len(found))
    ids = [p["id"] for p in board["panels"]]
    equal("ids of panels are their own", len(set(ids)), len(ids))
    for p in board["panels"]:
        if p["type"] != "row" and not (p["title"] and p["description"] and p["targets"]):
            expect("panels have a title, a description and queries", False, p["title"])
    overlaps = [(p["title"], q["title"]) for i, p in enumerate(board["panels"]) for q in board["panels"][:i]
                if overlap(p["gridPos"], q["gridPos"])]
    equal("panels do not overlap", overlaps, [])
    heat = [t["expr"] for p in board["panels"] if p["type"] == "heatmap" for t in p["targets"]]
    for name in ("duration", "wait"):
        metric = f"gpuexec_job_{name}_seconds_bucket"
        expect(f"the buckets of {name} are a heat map", any(e.startswith(f"sum by (le) (increase({metric}{{") for e in heat), heat)
        for q in (0.5, 0.99):
            begin = f"histogram_quantile({q}, sum by (le, op, field) (rate({metric}{{"
            expect(f"{name}: {q} by operation and field", any(e.startswith(begin) for _, e in found), begin)
    used = {n for _, e in found for n in re.findall(r"\$(?!_)(\w+)", e)}
    equal("variables are those that queries use", sorted(used | {"datasource"}),
          sorted(v["name"] for v in board["templating"]["list"]))
    variables = re.findall(rf"label_values\(({NAME}),", json.dumps(board["templating"]))
    return found + [("variables", name) for name in variables]


def overlap(a, b):
    return a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]


def check_names(what, text, names):
    """Metrics that the text names, with the labels asked of each, are among the names."""
    used = set(re.findall(NAME, text))
    equal(f"{what}: metrics exist", sorted(used - set(names)), [])
    given = {"job", "instance"}  # by Prometheus itself
    for name, selector in re.findall(rf"({NAME})\{{([^}}]*)\}}", text):
        labels = set(re.findall(r"([a-z]+)\s*(?:=~|!~|!=|=)", selector)) - given
        if not labels <= names.get(name, set()):
            expect(f"{what}: labels of {name} exist", False, sorted(labels - names[name]))
    return used


def test_dashboard(names):
    queries, used = dashboard(), set()
    for title, expr in queries:
        used |= check_names(f"panel '{title}'", expr, names)
    rules = [{"record": f"panel:{i}", "expr": re.sub(r"\$__(rate_interval|range)", "5m", expr)}
             for i, (_, expr) in enumerate(queries)]
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump({"groups": [{"name": "panels", "rules": rules}]}, file)  # YAML, too
        file.flush()
        code, said = promtool("check", "rules", file.name)
        expect("every query is PromQL", code == 0, said)
    return used


def test_rules(names):
    with open(RULES) as file:
        rules = file.read()
    with open(CASES) as file:
        cases = file.read()
    without_comments = re.sub(r"(?m)^\s*#.*$", "", rules)
    check_names("rules", without_comments, names)
    code, said = promtool("check", "rules", RULES)
    expect("promtool check rules", code == 0 and "SUCCESS" in said, said)
    for alert in re.findall(r"alert: (\w+)", rules):
        equal(f"{alert}: a case in which it fires, and one in which not",
              (bool(re.search(rf"alertname: {alert}\n\s+exp_alerts:", cases)),
               bool(re.search(rf"alertname: {alert}\}}", cases))), (True, True))
    code, said = promtool("test", "rules", CASES)
    expect("promtool test rules", code == 0, said)
    test_cases_find_mistakes(rules, cases)


def test_cases_find_mistakes(rules, cases):
    """Without any of its conditions, no rule passes."""
    changes = [(r"for: (\d+)m", "for: 0m"), (r"and [^\n]*>= \d+", ""), (r"and [^\n]*== 0", ""), (r"and [^\n]*offset[^\n]*", ""),
               (r"> 0\.05", "> 0.5"), (r"> 1\.5", "> 2.5"), (r"max by [^\n]*== 1", "gpuexec_device_health == 1")]
    for what, instead in changes:
        for match in re.finditer(what, rules):
            with tempfile.TemporaryDirectory() as folder:
                os.makedirs(f"{folder}/a/b")
                with open(f"{folder}/rules.yml", "w") as file:
                    file.write(rules[:match.start()] + instead + rules[match.end():])
                with open(f"{folder}/a/b/cases.yml", "w") as file:
                    file.write(re.sub(r"- \.\./\.\./monitoring/alerts.yml", "- ../../rules.yml", cases))
                code, _ = promtool("test", "rules", f"{folder}/a/b/cases.yml")
                name = re.findall(r"alert: (\w+)", rules[:match.start()])[-1]
                expect(f"{name}: the cases notice '{match[0]}' -> '{instead}'", code != 0)


def main():
    os.environ["VK_ICD_FILENAMES"] = os.environ["VK_DRIVER_FILES"] = "/nonexistent"
    if not os.path.exists(PROMTOOL):
        expect("promtool (scripts/fetch-promtool.sh build/promtool gets it)", False, PROMTOOL)
        sys.exit(1)
    names = exported()
    used = test_dashboard(names)
    expect("so are the blocks of the pool", "gpuexec_pool_blocks_total" in used, sorted(used))
    test_rules(names)
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
