"""Hostile archives and outcomes, each with the reason it must be refused for."""

import gzip


def entry(name: bytes, data: bytes = b"", kind: bytes = b"0", *, link: bytes = b"", size: bytes = b"") -> bytes:
    """One member of a tar file, with whatever header one likes and a right checksum."""
    header = bytearray(512)
    header[0 : len(name)] = name[:100]
    header[100:108], header[108:116], header[116:124] = b"0000644\0", b"0000000\0", b"0000000\0"
    header[124:136] = (size or b"%011o" % len(data)).ljust(12, b"\0")
    header[136:148], header[148:156], header[156:157] = b"00000000000\0", b" " * 8, kind
    header[157 : 157 + len(link)] = link[:100]
    header[257:265] = b"ustar  \0"
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + data + bytes(-len(data) % 512)


GOOD = entry(b"outcome.json", b'{"changes": {}}') + entry(b"meta.json", b"{}") + entry(b"branch.bundle", b"b")
END = bytes(1024)
MANY = b"".join(entry(b"artifacts/%d" % number, kind=b"5") for number in range(2_500))


def pax(*records: tuple[bytes, bytes]) -> bytes:
    lines = b""
    for key, value in records:
        length = len(key) + len(value) + 3
        lines += b"%d %s=%s\n" % (length + len(str(length + 2)), key, value)
    return entry(b"pax", lines, b"x")


#: the archive is refused as a whole or in part, for this reason; the rest of it (GOOD) stays usable
ARCHIVES: dict[str, tuple[bytes, str]] = {
    "climbs out": (entry(b"../../escaped", b"x"), "path-escape"),
    "climbs out of artifacts": (entry(b"artifacts/../../escaped", b"x"), "path-escape"),
    "climbs out by a long name": (
        entry(b"l", b"artifacts/" + b"a/" * 60 + b"../" * 70 + b"x\0", b"L") + entry(b"x"),
        "path-escape",
    ),
    "climbs out by an extended header": (pax((b"path", b"../escaped")) + entry(b"x", b"x"), "path-escape"),
    "is absolute": (entry(b"/tmp/escaped", b"x"), "absolute-path"),
    "symbolic link": (entry(b"artifacts/link", kind=b"2", link=b"/etc/passwd"), "link"),
    "link, then a file through it": (
        entry(b"artifacts/d", kind=b"2", link=b"/tmp") + entry(b"artifacts/d/x", b"x"),
        "link",
    ),
    "hard link": (entry(b"artifacts/hard", kind=b"1", link=b"outcome.json"), "link"),
    "long link": (entry(b"l", b"/etc/passwd\0", b"K") + entry(b"artifacts/l", kind=b"2"), "link"),
    "character device": (entry(b"artifacts/null", kind=b"3"), "device"),
    "block device": (entry(b"artifacts/disk", kind=b"4"), "device"),
    "pipe": (entry(b"artifacts/pipe", kind=b"6"), "device"),
    "sparse file": (entry(b"artifacts/sparse", kind=b"S"), "sparse"),
    "sparse by extended header": (pax((b"GNU.sparse.realsize", b"9" * 12)) + entry(b"artifacts/s"), "sparse"),
    "size by extended header": (pax((b"size", b"9" * 12)) + entry(b"artifacts/s"), "sparse"),
    "unreadable extended header": (entry(b"pax", b"99999 path=x\n", b"x"), "odd-header"),
    "extended header that never ends": (entry(b"pax", b"0 a=b\n" * 3, b"x"), "odd-header"),
    "global header": (entry(b"g", b"19 path=artifacts/x\n", b"g"), "odd-member"),
    "unknown kind": (entry(b"artifacts/x", b"x", b"Z"), "odd-member"),
    "second outcome": (entry(b"outcome.json", b'{"changes": {"DOC": {"status": "SUCCEEDED"}}}'), "duplicate"),
    "second outcome, spelt with a dot": (entry(b"./outcome.json", b"{}"), "duplicate"),
    "file that is a folder too": (entry(b"artifacts/a", b"x") + entry(b"artifacts/a/b", b"x"), "duplicate"),
    "member of its own": (entry(b"run.sh", b"x"), "unknown-member"),
    "artifacts as a file": (entry(b"artifacts", b"x"), "unknown-member"),
    "newline in a name": (entry(b"artifacts/a\nb", b"x"), "odd-name"),
    "escape in a name": (entry(b"artifacts/\x1b]0;owned\x07", b"x"), "odd-name"),
    "name written backwards": (entry("artifacts/\u202egpj.exe".encode(), b"x"), "odd-name"),
    "backslash in a name": (entry(b"artifacts\\..\\x", b"x"), "odd-name"),
    "empty part of a name": (entry(b"artifacts//x", b"x"), "odd-name"),
    "no name": (entry(b"", b"x"), "odd-name"),
    "name that is not UTF-8": (entry(b"artifacts/\xff\xfe", b"x"), "name-not-utf8"),
    "very long name": (entry(b"l", b"artifacts/" + b"n" * 300 + b"\0", b"L") + entry(b"x"), "name-too-long"),
    "very deep name": (entry(b"l", b"artifacts/" + b"n/" * 200 + b"x\0", b"L") + entry(b"x"), "name-too-long"),
    "huge name": (entry(b"l", b"artifacts/" + b"n" * 10_000 + b"\0", b"L") + entry(b"x"), "name-too-long"),
    "git folder": (entry(b"artifacts/.git/config", b"[core]\nfsmonitor=touch x"), "git-folder"),
    "git attributes": (entry(b"artifacts/.GitAttributes", b"x"), "git-folder"),
    "negative size": (entry(b"artifacts/x", size=b"\xff" * 12), "odd-number"),
    "size beyond all bounds": (entry(b"artifacts/x", size=b"\x80" + b"\xff" * 11), "odd-number"),
    "size beyond the end": (entry(b"artifacts/x", size=b"77777777777"), "truncated"),
    "thousands of entries": (MANY, "too-many-entries"),
    "rubbish for a header": (b"rubbish." * 64, "broken-header"),
    "chain of long names": (entry(b"l", b"x\0", b"L") * 3_000, "too-many-entries"),
    "artifact beyond its limit": (entry(b"artifacts/big", bytes(21 * 2**20)), "member-too-large"),
}

#: nothing of these is usable
WORTHLESS: dict[str, tuple[bytes, str]] = {
    "empty file": (b"", "truncated"),
    "only an end": (END, "empty"),
    "no tar": (b"#!/bin/sh\nrm -rf /\n" * 40, "not-a-tar"),
    "gzip bomb": (gzip.compress(bytes(10_000_000)), "compressed"),
    "zip": (b"PK\x03\x04" + bytes(600), "compressed"),
    "cut in its first file": (entry(b"artifacts/x", b"x" * 600)[:700], "truncated"),
    "nothing but a link": (entry(b"artifacts/link", kind=b"2", link=b"/etc/passwd") + END, "link"),
}

OUTCOMES: dict[str, tuple[bytes, str]] = {
    "nested 100,000 deep": (b"[" * 100_000, "outcome-too-deep"),
    "nested 40 deep": (b'{"changes": {}, "x": ' + b"[" * 40 + b"]" * 40 + b"}", "outcome-too-deep"),
    "huge number": (b'{"x": ' + b"9" * 100_000 + b"}", "outcome-not-json"),
    "number beyond all bounds": (b'{"x": 1e999999}', "outcome-not-json"),
    "NaN": (b'{"changes": NaN}', "outcome-not-json"),
    "half a surrogate": (b'{"x": "\\ud800"}', "outcome-not-json"),
    "not UTF-8": (b'{"x": "\xff\xfe"}', "outcome-not-json"),
    "UTF-16": ('{"changes": {}}'.encode("utf-16"), "outcome-not-json"),
    "empty": (b"", "outcome-not-json"),
    "two documents": (b"{}{}", "outcome-not-json"),
    "array": (b"[]", "outcome-not-an-object"),
    "text": (b'"{}"', "outcome-not-an-object"),
    "a megabyte": (b'{"x": "' + b"x" * 2**20 + b'"}', "outcome-too-large"),
    "changes as a list": (b'{"changes": [{"kind": "FIX_IMPL"}]}', "outcome-wrong-type"),
    "change without a status": (b'{"changes": {"FIX_IMPL": {}}}', "outcome-wrong-type"),
    "a thousand kinds": (
        b'{"changes": {' + b",".join(b'"%d": {"status": "FAILED"}' % n for n in range(1000)) + b"}}",
        "outcome-wrong-type",
    ),
    "truth as a text": (b'{"changes": {}, "tests_passing_after": "false"}', "outcome-wrong-type"),
    "schema of the future": (b'{"schema_version": 2, "changes": {}}', "outcome-version"),
}

ESCAPES = {
    "colour": "\\u001b[31mred\\u001b[0m",
    "title": "\\u001b]0;owned\\u0007red",
    "link": "\\u001b]8;;http://evil\\u001b\\\\red\\u001b]8;;\\u001b\\\\",
    "erases the line": "\\u001b[2K\\rred",
    "backspaces": "\\b\\bred",
    "eight-bit escape": "\\u009b31mred",
    "clipboard": "\\u001b]52;c;cm0gLXJmIC8=\\u0007red",
    "device control": "\\u001bP+q544e\\u001b\\\\red",
    "turns the writing": "r\\u202ee\\u202cd",
    "NUL": "r\\u0000ed",
    "unfinished": "red\\u001b]0;",
}
