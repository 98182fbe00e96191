#!/usr/bin/env python3
"""A compiled program holds nothing of the compiler.

    link_test.py BUILD

A program is linked again with its symbols kept; none of them may be a strong definition of a compiler library, nor of the
emitter, which shares a library with the packing of matrices.
"""

import subprocess
import sys

from harness import Workshop, golden, skip

COMPILER = ["dsl", "config", "graph", "passes", "plan", "compiler"]
PROGRAM_PART_OF_TARGETS = {"pack_matrix.cc.o"}


def strong_symbols(*arguments):
    listing = subprocess.run(["nm", "--defined-only", "--demangle", *map(str, arguments)], capture_output=True, text=True, check=True).stdout
    found, member = set(), ""
    for line in listing.splitlines():
        if line.endswith(":"):
            member = line[:-1]
            continue
        cells = line.split(maxsplit=2)
        if len(cells) == 3 and cells[1] in "TDBR" and member not in PROGRAM_PART_OF_TARGETS:
            found.add(cells[2])
    return found


def main():
    config = golden("models/llama/plain")
    if config is None:
        skip("there is no golden llama")
    with Workshop(sys.argv[1]) as workshop:
        libraries = [workshop.build / "src" / name / f"libscratchy_{name}.a" for name in COMPILER] + [workshop.build / "src/targets/libscratchy_targets.a"]
        compiler = set().union(*(strong_symbols(path) for path in libraries))
        assert len(compiler) > 100, "the compiler's libraries hold next to nothing; is the list of this test right?"
        folder = workshop.folder / "objects"
        if workshop.binary("llama", "-F", "cpu", "--config", config / "config.json", objects=folder) is None:
            return 1
        objects = sorted(folder.iterdir())
        kept = workshop.folder / "scr.symbols"
        link = (workshop.build / "scr_link.txt").read_text().split()
        subprocess.run(["g++", "-o", kept, "-pthread", "-Wl,--gc-sections", *objects, *link], check=True)
        both = sorted(strong_symbols(kept) & compiler)
        print("\n".join(["the program holds symbols of the compiler:", *both]) if both else f"none of {len(compiler)} compiler symbols is in the program")
        return 1 if both else 0


if __name__ == "__main__":
    sys.exit(main())
