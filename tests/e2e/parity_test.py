#!/usr/bin/env python3
"""Golden checkpoints of one architecture: each is compiled from its config and run by its binary.

    parity_test.py BUILD ARCH [CASE]

The logits of the whole prompt, those of decoding token by token, and for the encoder the hidden states lie within 1e-5 of
the largest expected value; chunks, threads and company in the batch change no bit.
"""

import sys

from harness import Failures, Workshop, golden, golden_cases, np, read_safetensors, relative_error, same_bits, skip

TOLERANCE = 1e-5
# LongRoPE's set of factors follows from the longest request a program serves: 64 positions are within the original range.
BUILD_FLAGS = {"phi3/longrope-short": ["--max-context", "64"]}


def check_near(failures, what, actual, expected):
    error = relative_error(actual, expected)
    print(f"{what}: error {error:.1e} of the largest, bound {TOLERANCE:.0e}")
    failures.check(error <= TOLERANCE, f"{what}: error {error:.1e} exceeds {TOLERANCE:.0e}")


def check_case(failures, workshop, name):
    folder = golden("models/" + name)
    expected = read_safetensors(folder / "expected.safetensors")
    binary = workshop.binary(name, "-F", "cpu", "--config", folder / "config.json", *BUILD_FLAGS.get(name, []))
    if not failures.check(binary is not None, f"{name}: no binary"):
        return
    ids = expected["input_ids"]
    first = workshop.logits(binary, folder, ids, "--threads", 1)
    if not failures.check(not isinstance(first, str), f"{name}: {first if isinstance(first, str) else ''}"):
        return
    check_near(failures, f"{name}: prompt", first["logits"], expected["logits"])
    company = workshop.companions([ids[::-1][: len(ids) // 2], ids[3:]])
    runs = [("--threads", 2), ("--threads", 2, "--batch-with", company)]
    if "hidden" in expected:
        check_near(failures, f"{name}: hidden", first["hidden"], expected["hidden"])
    else:
        runs += [("--threads", 2, "--chunk", 7), ("--threads", 1, "--chunk", 1)]
    same_bits(failures, workshop, binary, folder, ids, first, runs, name)
    if "decode_ids" in expected:
        steps = expected["decode_ids"]
        decoded = workshop.logits(binary, folder, np.concatenate([ids, steps[:-1]]), "--chunk", 1, "--last", len(steps))
        if failures.check(not isinstance(decoded, str), f"{name}: decoding: {decoded if isinstance(decoded, str) else ''}"):
            check_near(failures, f"{name}: decoding", decoded["logits"], expected["decode_logits"])
            failures.check((decoded["logits"].argmax(axis=1) == steps).all(), f"{name}: greedy ids differ")


def main():
    build, arch = sys.argv[1], sys.argv[2]
    cases = [case for case in golden_cases("models", 2) if case.startswith(arch + "/") and case.split("/")[1] in (sys.argv[3:] or [case.split("/")[1]])]
    if not cases:
        skip(f"there is no golden checkpoint of {arch}")
    failures = Failures()
    with Workshop(build) as workshop:
        for case in cases:
            check_case(failures, workshop, case)
    return failures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
