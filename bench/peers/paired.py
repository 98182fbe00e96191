"""Paired runs of scr and llama.cpp on the same GGUF file: ours, theirs, theirs, ours, ..; medians of the ratios.

    paired.py SCR CHECKPOINT.gguf [--pairs 5] [--depth 0,1024,4096] [--json FILE] [--markdown]

SCR is built for the file with bench in its scope:
    ./scratchy build -F cpu,bench --config CHECKPOINT.gguf -o SCR
Run it with the Python that has llama-cpp-python (requirements.txt). Both get the same ids, cores and cache type (f16).
llama.cpp runs with and without flash attention and its faster figure counts. Nothing else may run: a load above 0.3
is refused.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

PEER = pathlib.Path(__file__).with_name("measure_llama_cpp.py")


def run_json(command, cores):
    pinned = ["taskset", "-c", ",".join(map(str, range(cores)))] + command
    done = subprocess.run(pinned, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def figures(result):
    """A flat {name: rate} of one latency result."""
    flat = {f"prompt {result['prompt']['tokens']}": result["prompt"]["tokens_per_s"]}
    for row in result["decode"]:
        flat[f"decode at {row['depth']}"] = row["tokens_per_s"]
    return flat


def faster(first, second):
    return {name: max(first[name], second[name]) for name in first}


def refuse_load(limit):
    for _ in range(40):  # the load average still counts what ran before this script
        if os.getloadavg()[0] <= limit:
            return
        time.sleep(3)
    sys.exit(f"the load is {os.getloadavg()[0]}, above {limit}: something else is running")


def summary(pairs):
    """{name: {ours, theirs, ratio, low, high}}, medians and the range of the paired ratios."""
    table = {}
    for name in pairs[0][0]:
        ours, theirs = [pair[0][name] for pair in pairs], [pair[1][name] for pair in pairs]
        ratios = [o / t for o, t in zip(ours, theirs)]
        table[name] = {"ours": statistics.median(ours), "theirs": statistics.median(theirs), "ratio": statistics.median(ratios),
                       "low": min(ratios), "high": max(ratios)}
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scr")
    parser.add_argument("checkpoint")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--gen", type=int, default=64)
    parser.add_argument("--depth", default="0,1024,4096")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--max-load", type=float, default=0.3)
    parser.add_argument("--json", metavar="FILE", help="write every run as well")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()

    work = ["--prompt", str(options.prompt), "--gen", str(options.gen), "--depth", options.depth, "--threads", str(options.threads)]
    ours_command = [options.scr, "bench", "latency", options.checkpoint, "--json"] + work
    peer_command = [sys.executable, str(PEER), options.checkpoint] + work
    runs, pairs = [], []

    def ours():
        result = run_json(ours_command, options.threads)
        runs.append({"ours": result})
        return figures(result)

    def theirs():
        with_flash, without = (run_json(peer_command + more, options.threads) for more in ([], ["--no-flash"]))
        runs.append({"theirs": with_flash, "theirs_no_flash": without})
        return faster(figures(with_flash), figures(without))

    refuse_load(options.max_load)
    ours()  # warm-up of each: packs are written, pages are in memory
    theirs()
    runs.clear()
    for pair in range(options.pairs):
        if pair % 2 == 0:
            own, peer = ours(), theirs()
        else:
            peer, own = theirs(), ours()
        pairs.append((own, peer))
    table = summary(pairs)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"checkpoint": options.checkpoint, "runs": runs, "table": table}, indent=1))
    row = "| {:<15} | {:>8} | {:>9} | {:>5} | {:>11} |" if options.markdown else "{:<15} {:>8} {:>9} {:>5} {:>11}"
    print(row.format("tokens/s", "scratchy", "llama.cpp", "ratio", "range"))
    if options.markdown:
        print("|---|--:|--:|--:|--:|")
    for name, line in table.items():
        print(row.format(name, f"{line['ours']:.0f}", f"{line['theirs']:.0f}", f"{line['ratio']:.2f}", f"{line['low']:.2f}-{line['high']:.2f}"))


if __name__ == "__main__":
    main()
