#!/usr/bin/env python3
"""The weight pack in the user's cache is never trusted when it is not whole and never fatal.

    pack_test.py BUILD

After a pack was truncated, cut to nothing, overwritten, replaced by that of another checkpoint or by a folder, and with a
cache that cannot be written or is no folder, the logits have the same bits as at first.
"""

import os
import shutil
import sys

from harness import Failures, Workshop, golden, read_safetensors, skip


def corruptions(pack, other):
    """Ways to spoil a pack: name, action. Each takes the whole pack's bytes."""
    return [
        ("truncated", lambda whole: pack.write_bytes(whole[: len(whole) // 2])),
        ("one byte short", lambda whole: pack.write_bytes(whole[:-1])),
        ("empty", lambda whole: pack.write_bytes(b"")),
        ("shorter than its header", lambda whole: pack.write_bytes(whole[:40])),
        ("zeros", lambda whole: pack.write_bytes(bytes(len(whole)))),
        ("other magic", lambda whole: pack.write_bytes(b"X" + whole[1:])),
        ("entries of all ones", lambda whole: pack.write_bytes(whole[:64] + b"\xff" * 256 + whole[320:])),
        ("of another checkpoint", lambda whole: shutil.copyfile(other, pack)),
    ]


def main():
    folders = [golden("models/llama/plain"), golden("models/llama/rope-llama3")]
    if None in folders:
        skip("there is no golden llama")
    failures = Failures()
    with Workshop(sys.argv[1]) as workshop:
        binary = workshop.binary("both", "-F", "cpu", "--config", folders[0] / "config.json", "--config", folders[1] / "config.json")
        if binary is None:
            return 1
        ids = read_safetensors(folders[0] / "expected.safetensors")["input_ids"]
        packs = workshop.folder / "cache" / "scratchy" / "packs"
        first = workshop.logits(binary, folders[0], ids)
        if not failures.check(not isinstance(first, str), f"{first if isinstance(first, str) else ''}"):
            return failures.exit_code()

        def check_same(what):
            again = workshop.logits(binary, folders[0], ids)
            if failures.check(not isinstance(again, str), f"pack {what}: {again if isinstance(again, str) else ''}"):
                failures.check(again["logits"].tobytes() == first["logits"].tobytes(), f"pack {what}: other logits")
                print(f"pack {what}: same logits")

        (pack,) = packs.iterdir()
        workshop.logits(binary, folders[1], ids)
        (other,) = (path for path in packs.iterdir() if path != pack)
        whole = pack.read_bytes()
        check_same("as it was written")
        for what, spoil in corruptions(pack, other):
            pack.chmod(0o644)
            pack.write_bytes(whole)
            spoil(whole)
            check_same(what)
        pack.unlink()
        pack.mkdir()
        check_same("a folder")
        shutil.rmtree(packs)
        packs.write_text("a file where the folder should be")
        check_same("folder is a file")
        packs.unlink()
        if os.geteuid() != 0:
            packs.mkdir(mode=0o500)
            check_same("folder is read-only")
        else:
            workshop.environment["XDG_CACHE_HOME"] = "/proc/nowhere"
            check_same("folder cannot be made")
        done = workshop.run([binary, "logits", folders[0], "--ids", "1", "-o", workshop.folder / "one.safetensors"])
        failures.check(done.returncode == 0 and "note: the packed weights are not kept" in done.stderr, f"a pack that is not kept is not told: {done.stderr!r}")
    return failures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
