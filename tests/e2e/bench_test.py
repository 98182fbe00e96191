#!/usr/bin/env python3
"""scr bench on a tiny model: its figures are all there, and its profile fits the tapes that explain shows. No time is
judged.

    bench_test.py BUILD
"""

import json
import sys

from harness import Failures, Workshop, golden, skip

CASE = "models/llama/plain"


def bench(failures, workshop, binary, command, *options):
    done = workshop.run([binary, "bench", command, golden(CASE), "--json", *options])
    if not failures.check(done.returncode == 0, f"bench {command}: {done.stderr.strip()}"):
        return None
    return json.loads(done.stdout)


def check_latency(failures, workshop, binary):
    profile = workshop.folder / "profile.json"
    result = bench(failures, workshop, binary, "latency", "--prompt", 8, "--gen", 4, "--depth", "0,16", "--profile", profile)
    if result is None:
        return
    failures.check(result["prompt"]["tokens"] == 8 and result["prompt"]["tokens_per_s"] > 0, f"latency: prompt {result['prompt']}")
    failures.check([row["depth"] for row in result["decode"]] == [0, 16], f"latency: decode {result['decode']}")
    failures.check(all(row["tokens_per_s"] > 0 for row in result["decode"]), f"latency: decode {result['decode']}")
    failures.check(all(result[key] > 0 for key in ("rss_bytes", "weight_bytes", "threads", "read_bandwidth_bytes_per_s")), f"latency: {result}")

    explain = ["explain", "--config", golden(CASE)]
    done = workshop.scratchyc(*explain, "--measured", profile)
    failures.check(done.returncode == 0 and "measured" in done.stdout and "waiting" in done.stdout, f"explain: {done.stderr.strip()}")
    written = json.loads(profile.read_text())
    written["decode"]["steps"].pop()
    profile.write_text(json.dumps(written))
    done = workshop.scratchyc(*explain, "--measured", profile)
    failures.check(done.returncode == 1 and "another program" in done.stderr, f"explain of a foreign profile: {done.returncode} {done.stderr.strip()}")


def main():
    if golden(CASE) is None:
        skip(f"there is no golden {CASE}")
    failures = Failures()
    with Workshop(sys.argv[1]) as workshop:
        binary = workshop.binary("bench", "-F", "cpu,bench", "--config", golden(CASE))
        if failures.check(binary is not None, "no binary"):
            check_latency(failures, workshop, binary)
            result = bench(failures, workshop, binary, "throughput", "--sequences", "1,3", "--prompt", 4, "--gen", 2)
            if result is not None:
                failures.check([row["sequences"] for row in result["decode"]] == [1, 3], f"throughput: {result}")
            # This checkpoint has no tokenizer, so a chat cannot start: the failure says so, and no figure is made up.
            done = workshop.run([binary, "bench", "startup", golden(CASE), "--json"])
            failures.check(done.returncode == 1 and "gave no answer" in done.stderr, f"startup: {done.returncode} {done.stdout} {done.stderr}")
    return failures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
