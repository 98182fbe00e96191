#!/usr/bin/env python3
"""Writes character_tables.inc: the properties of characters that Python's string methods ask for.

Run with CPython 3.11 (Unicode 14); every row is probed from `str` itself, so that our methods and Python's agree.
Sets are {first, last, stride}; mappings to one character are {first, last, stride, distance}; mappings to several are
{code, a, b, c} with zeros behind.
"""

import sys
import unicodedata

CODES = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def runs(codes):
    """Sorted codes as (first, last, stride), stride 1 or 2."""
    out = []
    for code in codes:
        if out and code - out[-1][1] == out[-1][2]:
            out[-1][1] = code
        elif out and out[-1][0] == out[-1][1] and code - out[-1][1] == 2:
            out[-1][1], out[-1][2] = code, 2
        else:
            out.append([code, code, 1])
    return out


def rows(name, kind, items):
    print(f"constexpr {kind} {name}[] = {{")
    line = "   "
    for item in items:
        text = " {" + ", ".join(hex(v) if i < 2 and v > 9 else str(v) for i, v in enumerate(item)) + "},"
        if len(line) + len(text) > 118:
            print(line)
            line = "   "
        line += text
    print(line)
    print("};")


def char_set(name, test):
    rows(name, "CharacterRun", runs([c for c in CODES if test(chr(c))]))


def mapping(name, function, base=lambda ch: ch):
    single, several = {}, []
    for c in CODES:
        to = function(chr(c))
        if to == base(chr(c)):
            continue
        if len(to) == 1:
            single.setdefault(ord(to) - c, []).append(c)
        else:
            several.append([c] + [ord(t) for t in to] + [0] * (3 - len(to)))
    items = sorted(run + [distance] for distance, codes in single.items() for run in runs(codes))
    flat = []
    for first, last, stride, distance in items:
        overlaps = any(f < last and first < l for f, l, _, _ in flat[-4:])
        if overlaps:
            flat += [[c, c, 1, distance] for c in range(first, last + 1, stride)]
        else:
            flat.append([first, last, stride, distance])
    rows(f"k{name}One", "CharacterShift", sorted(flat))
    rows(f"k{name}Several", "CharacterSpread", several or [[0, 0, 0, 0]])


def main():
    if unicodedata.unidata_version != "14.0.0":
        sys.exit("needs CPython 3.11 (Unicode 14.0.0)")
    print("// Written by make_character_tables.py from CPython 3.11 (Unicode 14). Included by characters.cc alone.")
    char_set("kAlphabetic", str.isalpha)
    char_set("kDecimal", str.isdecimal)
    char_set("kDigit", str.isdigit)
    char_set("kNumeric", str.isnumeric)
    char_set("kSpace", str.isspace)
    char_set("kUpper", str.isupper)
    char_set("kLower", str.islower)
    char_set("kTitle", lambda ch: unicodedata.category(ch) == "Lt")
    char_set("kPrintable", str.isprintable)
    char_set("kNameStart", str.isidentifier)
    char_set("kNamePart", lambda ch: ("a" + ch).isidentifier())
    char_set("kCased", lambda ch: (ch + "\u03a3").lower()[-1] == "\u03c2")
    char_set("kCaseIgnorable", lambda ch: ("A" + ch + "\u03a3").lower()[-1] == "\u03c2" and (ch + "\u03a3").lower()[-1] == "\u03c3")
    mapping("ToLower", str.lower)
    mapping("ToUpper", str.upper)
    mapping("ToTitle", str.title, base=str.upper)
    mapping("ToFolded", str.casefold, base=str.lower)


main()
