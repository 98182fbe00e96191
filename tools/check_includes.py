#!/usr/bin/env python3
"""Checks that includes point down the house.

The folders of src/ stand in processing order; a folder may include only folders before it. The folders of a running
program (text runtime cli bench) may in addition include nothing of the compiler; neither may the kernels and the matrix
packing of the cpu target, which are compiled into programs although they live in targets/. Tests may use testing/, and
test programs of the kernels anything below.
"""

import pathlib
import re
import sys

COMPILER = ["base", "numeric", "checkpoint", "dsl", "config", "graph", "passes", "tape", "plan", "targets", "compiler"]
PROGRAM_BASE = ["base", "numeric", "checkpoint", "tape"]
PROGRAM = PROGRAM_BASE + ["text", "runtime", "serve", "cli", "bench"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"/]+)/([^"]*)"', re.MULTILINE)


def is_test(path):
    return path.stem.endswith(("_test", "_fuzz", "_kernel_check", "_test_util", "_test_data", "_test_model"))


def in_program_part_of_targets(relative):
    text = relative.as_posix()
    return text.startswith("targets/cpu/kernels/") or text.startswith("targets/cpu/pack_matrix.")


def allowed_folders(relative):
    """Folders that a file of src/ may include from."""
    folder = relative.parts[0]
    if folder == "testing":
        return ["base", "testing"]
    if in_program_part_of_targets(relative):
        allowed = PROGRAM_BASE + ["targets"]
    elif folder in PROGRAM and folder not in PROGRAM_BASE:
        allowed = PROGRAM[: PROGRAM.index(folder) + 1]
    elif folder in COMPILER:
        allowed = COMPILER[: COMPILER.index(folder) + 1]
    else:
        return None
    return allowed + (["testing"] if is_test(relative) else [])


def check(source_root):
    errors = []
    files = sorted(p for p in source_root.rglob("*") if p.suffix in (".h", ".cc", ".inc", ".def"))
    for path in files:
        relative = path.relative_to(source_root)
        allowed = allowed_folders(relative)
        if allowed is None:
            errors.append(f"src/{relative}: folder `{relative.parts[0]}` has no place in the order; add it to tools/check_includes.py")
            continue
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            folder, rest = match.groups()
            line = text.count("\n", 0, match.start()) + 1
            where = f"src/{relative}:{line}: includes `{folder}/{rest}`"
            if folder not in allowed:
                errors.append(f"{where}, which `{relative.parts[0]}` may not; it may include {', '.join(allowed)}")
            elif in_program_part_of_targets(relative) and folder == "targets" and not in_program_part_of_targets(pathlib.PurePath(folder, rest)):
                errors.append(f"{where}, which is part of the compiler; kernels are compiled into programs")
    return len(files), errors


def main():
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    count, errors = check(root)
    print("\n".join(errors) if errors else f"includes: {count} files point down")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
