#!/usr/bin/env python3
"""Golden checkpoints of one family of quant forms, compiled from their own description and compared with the logits of
the dequantised weights.

    quant_test.py BUILD PREFIX

The bound is the case's tolerance in the golden index where activations stay f32. GGUF forms multiply in integers with the
input of every matrix rounded to 16 bits a block. The index has a figure for 8 bits, which may be exceeded twofold; our codes
are 128 times finer, and get a sixty-fourth of it. Products of two bf16 get a quarter.
"""

import re
import sys

from harness import Failures, Workshop, golden, golden_cases, np, read_safetensors, same_bits, skip


def bounds():
    """Per case: the absolute bound on a logit, from the golden index."""
    index = golden("quant/INDEX.md")
    found = {}
    for line in index.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 9 or not re.fullmatch(r"[0-9][0-9.e+-]*", cells[5]):
            continue
        rounded = re.search(r"x in q8_0 ([0-9][0-9.e+-]*)", cells[7])
        found[cells[0]] = 2 * float(rounded.group(1)) / (8 if "bf16" in cells[0] else 64) if rounded else float(cells[5])
    return found


def check_case(failures, workshop, name, bound):
    folder = golden("quant/" + name)
    gguf = folder / "model.gguf"
    checkpoint = gguf if gguf.exists() else folder
    expected = read_safetensors(folder / "expected.safetensors")
    binary = workshop.binary(name, "-F", "cpu", "--kv", "f32", "--config", checkpoint)
    if not failures.check(binary is not None, f"{name}: no binary"):
        return
    ids = expected["input_ids"]
    first = workshop.logits(binary, checkpoint, ids, "--threads", 1)
    if not failures.check(not isinstance(first, str), f"{name}: {first if isinstance(first, str) else ''}"):
        return
    error = float(np.abs(first["logits"] - expected["logits"]).max())
    print(f"{name}: largest difference {error:.1e}, bound {bound:.1e}")
    failures.check(error <= bound, f"{name}: largest difference {error:.1e} exceeds {bound:.1e}")
    same_bits(failures, workshop, binary, checkpoint, ids, first, [("--threads", 2), ("--threads", 2, "--chunk", 5), ("--chunk", 1)], name)


def main():
    build, prefix = sys.argv[1], sys.argv[2]
    cases = [case for case in golden_cases("quant", 1) if case.startswith(prefix)]
    if not cases or golden("quant/INDEX.md") is None:
        skip(f"there are no golden checkpoints of {prefix}")
    failures = Failures()
    limits = bounds()
    with Workshop(build) as workshop:
        for case in cases:
            if failures.check(case in limits, f"{case}: the index states no bound"):
                check_case(failures, workshop, case, limits[case])
    return failures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
