"""What the end-to-end tests share: golden files, binaries built by scratchyc, logits taken from them.

Every test is a program of its own: exit 0 passed, 1 failed, 77 skipped with the reason printed.
"""

import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77

try:
    import numpy as np
except ImportError:
    print("skipped: python3-numpy is not installed")
    sys.exit(SKIPPED)

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def read_safetensors(path):
    """Every tensor of a file of plain dtypes."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def write_safetensors(path, tensors):
    names = {np.dtype(code): name for name, code in DTYPES.items()}
    header, at = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


def golden(name):
    """A golden folder or file: checked in, or beside the checkout; None when neither is there."""
    for root in (SOURCE / "tests" / "golden", SOURCE.parent / "shared" / "golden"):
        if (root / name).exists():
            return root / name
    return None


def golden_cases(folder, depth):
    """Names below a golden folder, `depth` levels down, of both places."""
    names = set()
    for root in (SOURCE / "tests" / "golden" / folder, SOURCE.parent / "shared" / "golden" / folder):
        names |= {path.parent.relative_to(root).as_posix() for path in root.glob("*/" * depth + "expected.safetensors")}
    return sorted(names)


class Failures:
    """Collects what is wrong, so that one run tells everything."""

    def __init__(self):
        self.count = 0

    def check(self, holds, text):
        if not holds:
            self.count += 1
            print(f"FAILED: {text}")
        return holds

    def exit_code(self):
        print("passed" if self.count == 0 else f"{self.count} failed")
        return 1 if self.count else 0


class Workshop:
    """A folder of one test: binaries, packs and outputs; gone when the test ends."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scratchy-e2e-"))
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, arguments, **more):
        return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, env=self.environment, cwd=SOURCE, timeout=900, **more)

    def scratchyc(self, *arguments):
        return self.run([self.build / "src" / "compiler" / "scratchyc", *arguments])

    def binary(self, name, *arguments, objects=None):
        """Builds a binary; its path, or None with the compiler's words printed. Tests share their objects."""
        output = self.folder / name / "scr"
        places = ["--work-dir", output.parent, "--object-dir", objects or self.build / "programs" / "objects", "--link-list", self.build / "scr_link.txt"]
        done = self.scratchyc("build", *arguments, "-o", output, *places)
        if done.returncode != 0:
            print(f"{name}: scratchyc build exited with {done.returncode}\n{done.stderr.strip()}")
            return None
        return output

    def interpret(self, checkpoint, ids, *options):
        """The tensors of the reference interpreter, or a string that says why there are none."""
        output = self.folder / "interpreted.safetensors"
        output.unlink(missing_ok=True)
        done = self.scratchyc("interpret", "--weights", checkpoint, "--ids", ",".join(str(int(i)) for i in ids), "-o", output, *options)
        if done.returncode != 0:
            return f"scratchyc interpret exited with {done.returncode}: {done.stderr.strip()}"
        return read_safetensors(output)

    def logits(self, binary, checkpoint, ids, *options):
        """The tensors `scr logits` writes, or a string that says why there are none."""
        output = self.folder / "out.safetensors"
        output.unlink(missing_ok=True)
        done = self.run([binary, "logits", checkpoint, "--ids", ",".join(str(int(i)) for i in ids), "-o", output, *options])
        if done.returncode != 0:
            return f"scr logits exited with {done.returncode}: {done.stderr.strip()}"
        return read_safetensors(output)

    def companions(self, sequences):
        path = self.folder / "companions.txt"
        path.write_text("".join(",".join(str(int(i)) for i in ids) + "\n" for ids in sequences))
        return path


def relative_error(actual, expected):
    """Largest difference over the largest expected value."""
    if actual.shape != expected.shape or not np.isfinite(actual).all():
        return math.inf
    return float(np.abs(actual.astype(np.float64) - expected).max() / np.abs(expected).max())


def same_bits(failures, workshop, binary, checkpoint, ids, expected, runs, what):
    """Runs again in other ways; `expected` are the tensors of the first run."""
    for options in runs:
        again = workshop.logits(binary, checkpoint, ids, *options)
        words = " ".join(str(o) for o in options)
        if isinstance(again, str):
            failures.check(False, f"{what}: {words}: {again}")
            continue
        equal = again["logits"].tobytes() == expected["logits"].tobytes()
        failures.check(equal, f"{what}: other bits with {words}: largest difference {relative_error(again['logits'], expected['logits']):.1e} of the largest logit")
