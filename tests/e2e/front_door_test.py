#!/usr/bin/env python3
"""What ./scratchy and the tools behind it answer when used wrongly, and that nothing is done twice.

    front_door_test.py BUILD
"""

import os
import subprocess
import sys

from harness import SOURCE, Failures

CASES = [
    # arguments, exit code, what standard error holds
    ([], 2, "usage: ./scratchy"),
    (["sing"], 2, "unknown command `sing`"),
    (["run", "--kv"], 2, "`--kv` needs a value"),
    (["run", "nowhere/model.gguf"], 1, "there is no checkpoint `nowhere/model.gguf`"),
]


def run(*arguments):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, cwd=SOURCE)


def main():
    failures = Failures()
    for arguments, code, words in CASES:
        done = run("./scratchy", *arguments)
        failures.check(done.returncode == code, f"scratchy {arguments}: exit code {done.returncode}, not {code}")
        failures.check(words in done.stderr and not done.stdout, f"scratchy {arguments}: said {done.stdout!r} {done.stderr!r}")
    bare = subprocess.run(["./scratchy", "help"], capture_output=True, text=True, cwd=SOURCE, env={"PATH": os.environ["PATH"]})
    failures.check(bare.returncode == 0, f"scratchy help without HOME: {bare.stderr!r}")
    help_text = run("./scratchy", "help")
    failures.check(help_text.returncode == 0 and "run CHECKPOINT" in help_text.stdout, "scratchy help says nothing")
    again = run("tools/install_packages.sh", "build", "test")
    failures.check(again.returncode == 0 and not again.stdout + again.stderr, f"install_packages.sh is not silent: {again.stderr!r}")
    includes = run(sys.executable, "tools/check_includes.py")
    failures.check(includes.returncode == 0, includes.stdout)
    return failures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
