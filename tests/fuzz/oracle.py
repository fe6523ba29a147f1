"""The oracle of the target `json`: what Python makes of a text.

Reads a length (four bytes, little-endian) and so many bytes of UTF-8, again and again, and
answers each with a word (one byte), a length and a text:

A  accepted: json.dumps(json.loads(text), sort_keys=True)
D  refused: an object holds a key twice
S  refused: a string holds half of a surrogate pair
X  refused: anything else; the text says why
"""

import json
import struct
import sys


class Twice(ValueError):
    pass


def members(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Twice
    return found


def constant(word):
    raise ValueError(word)


def answer(text):
    try:
        value = json.loads(text, object_pairs_hook=members, parse_constant=constant)
        written = json.dumps(value, sort_keys=True)
    except Twice:
        return b"D", ""
    except RecursionError:
        return b"X", "recursion"
    except ValueError as error:
        return b"X", str(error)
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return b"S", ""
    return b"A", written


def main():
    sys.setrecursionlimit(20000)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(4):
        text = source.read(*struct.unpack("<I", head)).decode("utf-8")
        word, told = answer(text)
        told = told.encode("utf-8")
        sink.write(word + struct.pack("<I", len(told)) + told)
        sink.flush()


main()
