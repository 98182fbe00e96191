#!/usr/bin/env python3
"""`scr chat` on the default checkpoint, as scripts and people use it: one question, several turns, standard input, JSON, and a
person at a terminal who resets, saves, stops an answer and leaves.

    chat_test.py BUILD
"""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

from harness import Failures, Workshop
from smollm2_test import fetch, profiles_here

GREEDY = ["--temperature", "0", "--threads", "1"]
PATIENCE = 60  # seconds that anything may take


class Terminal:
    """scr on a terminal of its own; what it prints is collected without escape sequences."""

    def __init__(self, workshop, arguments):
        self.text = ""
        self.process, self.side = pty.fork()
        if self.process == 0:
            os.chdir(workshop.folder)
            os.execve(str(arguments[0]), [str(a) for a in arguments], dict(workshop.environment, TERM="dumb", LC_ALL="C.UTF-8"))

    def wait_for(self, pattern, begin):
        """Where the text after `begin` matches, or None when it never does."""
        deadline = time.monotonic() + PATIENCE
        while not (found := re.compile(pattern).search(self.text, begin)) and time.monotonic() < deadline:
            if not select.select([self.side], [], [], 0.2)[0]:
                continue
            try:
                self.text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", os.read(self.side, 65536).decode("utf-8", "replace"))
            except OSError:  # the other side is closed
                break
        return found

    def send(self, line):
        begin = len(self.text)
        os.write(self.side, line.encode())
        return begin

    def exit_code(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            done, status = os.waitpid(self.process, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            self.wait_for(r"$^", 0) if select.select([self.side], [], [], 0)[0] else time.sleep(0.05)
        os.kill(self.process, signal.SIGKILL)
        return "never"


def check_scripts(failures, workshop, chat):
    def ask(*arguments, **more):
        return workshop.run([*chat, *arguments], **more)

    plain = ask("-q", "Name a colour.", "--max-tokens", "8", *GREEDY)
    failures.check(plain.returncode == 0 and plain.stdout.strip() != "", f"-q: {plain.returncode} {plain.stderr}")
    failures.check(re.search(r"prompt \d+ tokens .*first token after .* answer 8 tokens", plain.stderr), f"speed is not on standard error: {plain.stderr!r}")
    piped = ask("--max-tokens", "8", *GREEDY, input="Name a colour.\n")
    failures.check(piped.stdout == plain.stdout, f"standard input: {piped.stdout!r}, with -q: {plain.stdout!r}")

    one = json.loads(ask("-q", "Name a colour.", "--max-tokens", "8", "--json", *GREEDY).stdout)
    failures.check(one["text"] == plain.stdout.rstrip("\n") and len(one["ids"]) == 8 and one["finish_reason"] == "length", f"--json: {one}")
    failures.check({"time_to_first_token_s", "prompt_tokens_per_s", "answer_tokens_per_s"} <= one["timings"].keys(), f"--json has no timings: {one}")
    two = json.loads(ask("-p", "Name a colour.", "-p", "And another.", "--max-tokens", "8", "--json", *GREEDY).stdout)
    failures.check(len(two["turns"]) == 2 and two["turns"][0]["text"] == one["text"] and two["cached_tokens"] > 0, f"two turns: {two}")

    word = one["text"].split()[1]
    stopped = json.loads(ask("-q", "Name a colour.", "--stop", "never said", "--stop", word, "--json", *GREEDY).stdout)
    failures.check(stopped["text"] == one["text"][: one["text"].index(word)] and stopped["stop"] == word and stopped["finish_reason"] == "stop", f"--stop {word}: {stopped}")
    raw = json.loads(ask("--raw", "-q", "The capital of France is", "--max-tokens", "2", "--json", *GREEDY).stdout)
    failures.check(raw["prompt_tokens"] == 5 and "Paris" in raw["text"], f"--raw: {raw}")
    system = json.loads(ask("--system", "Answer in French.", "-q", "Name a colour.", "--max-tokens", "8", "--json", *GREEDY).stdout)
    failures.check(system["prompt_tokens"] != one["prompt_tokens"], f"--system changes nothing: {system}")
    seeds = [ask("-q", "Name a colour.", "--max-tokens", "8", "--temperature", "2", "--seed", seed).stdout for seed in ("1", "1", "2")]
    failures.check(seeds[0] == seeds[1] != seeds[2], f"--seed: {seeds}")

    long = ask(*GREEDY, input="word " * 20000)
    failures.check(long.returncode == 1 and "context" in long.stderr, f"a prompt longer than the context: {long.returncode} {long.stderr}")
    with open("/dev/full", "w") as full:
        lost = subprocess.run([str(word) for word in [*chat, "-q", "hi", "--max-tokens", "4", *GREEDY]], stdout=full, stderr=subprocess.PIPE, text=True, env=workshop.environment)
    failures.check(lost.returncode == 1 and "standard output" in lost.stderr, f"a full disk: {lost.returncode} {lost.stderr}")
    running = subprocess.Popen([str(word) for word in [*chat, "-q", "Write a very long story.", *GREEDY]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=workshop.environment)
    running.stdout.read(4)
    running.send_signal(signal.SIGINT)
    output, error = running.communicate(timeout=PATIENCE)
    failures.check(running.returncode == 130 and b"answer" in error, f"Ctrl-C ends an answer with {running.returncode}: {error}")


def check_person(failures, workshop, chat):
    def expect(pattern, begin, what):
        found = terminal.wait_for(pattern, begin)
        failures.check(found, f"{what}: no {pattern!r} in {terminal.text[begin:]!r}")

    terminal = Terminal(workshop, [*chat, "--max-tokens", "200", *GREEDY])
    expect("> ", 0, "a prompt")
    begin = terminal.send("Name a colour.\n")
    expect(r"answer \d+ tokens.*\n(.*\n)*> ", begin, "an answer and the next prompt")
    begin = terminal.send("/save talk.json\n")
    expect("\n> ", begin, "/save")
    saved = json.loads((workshop.folder / "talk.json").read_text())
    failures.check([message["role"] for message in saved][-2:] == ["user", "assistant"] and saved[-2]["content"] == "Name a colour.", f"/save wrote {saved}")
    begin = terminal.send("/save\n")
    expect("needs the name of a file(.*\n)*> ", begin, "/save without a name")
    begin = terminal.send("/save talk.json/below\n")
    expect("error: (.*\n)*> ", begin, "/save where nothing can be written")
    begin = terminal.send("/rest\n")
    expect("no command /rest(.*\n)*> ", begin, "an unknown command")
    begin = terminal.send("/system Be brief.\n")
    expect("\n> ", begin, "/system")
    begin = terminal.send("Write a very long story about the sea.\n")
    expect(r"\n\w+", begin, "the answer begins")
    os.write(terminal.side, b"\x03")
    expect(r"answer \d+ tokens(.*\n)*> ", begin, "Ctrl-C stops the answer, not the chat")
    failures.check("answer 200 tokens" not in terminal.text[begin:], "Ctrl-C did not stop the answer")
    begin = terminal.send("/reset\n")
    expect("\n> ", begin, "/reset")
    begin = terminal.send("/save empty.json\n")
    expect("\n> ", begin, "/save after /reset")
    kept = json.loads((workshop.folder / "empty.json").read_text())
    failures.check(kept == [{"role": "system", "content": "Be brief."}], f"after /system and /reset: {kept}")
    terminal.send("/quit\n")
    failures.check(terminal.exit_code() == 0, "/quit does not leave with 0")
    history = workshop.folder / "cache" / "scratchy" / "chat_history"
    failures.check(history.exists() and "colour" in history.read_text(), "there is no history")

    terminal = Terminal(workshop, [*chat, *GREEDY])
    expect("> ", 0, "a prompt")
    begin = terminal.send("\x03")
    expect("Ctrl-C again", begin, "Ctrl-C at the prompt")
    terminal.send("\x04")
    failures.check(terminal.exit_code() == 0, "Ctrl-D does not leave with 0")


def main():
    profiles_here()
    checkpoint = fetch()
    failures = Failures()
    with Workshop(sys.argv[1]) as workshop:
        binary = workshop.binary("smollm2", "-F", "cpu,model/smollm2-135m,quant/gguf", "--profile", "x86-64-v3")
        if binary is None:
            return 1
        chat = [binary, "chat", checkpoint]
        check_scripts(failures, workshop, chat)
        check_person(failures, workshop, chat)
    return failures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
