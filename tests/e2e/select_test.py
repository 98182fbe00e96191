#!/usr/bin/env python3
"""Several models share a binary, and a checkpoint selects its own by content.

    select_test.py BUILD

Each golden checkpoint of the binary gives its own expected logits; one whose config says something that no program was
compiled for is refused with what differs, though every shape fits.
"""

import json
import shutil
import sys

from harness import Failures, Workshop, golden, read_safetensors, relative_error, skip

# The first two have the same tensors: only their configs tell them apart.
CASES = ["llama/plain", "llama/rope-llama3", "qwen2/tied", "granite/multipliers"]
TOLERANCE = 1e-5


def main():
    folders = [golden("models/" + case) for case in CASES]
    if None in folders:
        skip("there are no golden checkpoints of llama, qwen2 and granite")
    failures = Failures()
    with Workshop(sys.argv[1]) as workshop:
        configs = [word for folder in folders for word in ("--config", folder / "config.json")]
        binary = workshop.binary("several", "-F", "cpu", *configs)
        if binary is None:
            return 1
        for case, folder in zip(CASES, folders):
            expected = read_safetensors(folder / "expected.safetensors")
            got = workshop.logits(binary, folder, expected["input_ids"])
            if not failures.check(not isinstance(got, str), f"{case}: {got}"):
                continue
            error = relative_error(got["logits"], expected["logits"])
            print(f"{case}: error {error:.1e} of the largest, bound {TOLERANCE:.0e}")
            failures.check(error <= TOLERANCE, f"{case}: error {error:.1e} exceeds {TOLERANCE:.0e}")

        other = workshop.folder / "other"
        shutil.copytree(folders[0], other)
        config = json.loads((other / "config.json").read_text())
        config["rms_norm_eps"] = 0.125
        (other / "config.json").write_text(json.dumps(config))
        refused = workshop.logits(binary, other, [1, 2])
        said = isinstance(refused, str) and "exited with 1" in refused and "`rms_norm_eps` is 0.125, this program was compiled for" in refused
        failures.check(said, f"a config with another epsilon: {refused if isinstance(refused, str) else 'runs'}")
    return failures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
