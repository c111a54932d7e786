"""Hostile bundles, each with the reason it must be refused for."""

import hashlib
import struct
import zlib
from collections.abc import Callable

from tests.agent_clone import AgentClone, git


class Attack:
    """An agent's clone, and a bundle to be made of it."""

    def __init__(self, clone: AgentClone) -> None:
        self.clone, self.work, self.base = clone, clone.work, clone.base
        self.path = clone.home / "branch.bundle"
        self.head = ""

    def bundle(self, head: str, *, refs: tuple[str, ...] = ("refs/heads/work",), since: str = "") -> None:
        self.head = head
        for ref in refs:
            git(self.work, "update-ref", ref, head)
        git(self.work, "bundle", "create", "-q", str(self.path), *refs, f"^{since or self.base}")

    def object(self, kind: str, data: bytes) -> str:
        path = self.clone.home / "object"
        path.write_bytes(data)
        return git(self.work, "hash-object", "-t", kind, "-w", "--literally", str(path))

    def tree(self, *entries: tuple[str, bytes, str]) -> str:
        return self.object("tree", b"".join(f"{m} ".encode() + n + b"\0" + bytes.fromhex(s) for m, n, s in entries))

    def commit_tree(self, tree: str, *parents: str) -> str:
        return git(self.work, "commit-tree", "-m", "[FIX_IMPL] x", *(f"-p{p}" for p in parents or (self.base,)), tree)

    def entries(self, *entries: tuple[str, bytes, str]) -> None:
        self.bundle(self.commit_tree(self.tree(*entries)))

    @property
    def blob(self) -> str:
        return self.object("blob", b"x\n")

    def raw(self, head: bytes, *objects: tuple[int, bytes]) -> None:
        """A bundle with a pack of these objects, and a right checksum."""
        pack = b"PACK" + struct.pack(">II", 2, len(objects))
        for kind, data in objects:
            size, rest = len(data) & 15, len(data) >> 4
            start = bytearray([kind << 4 | size | (128 if rest else 0)])
            while rest:
                start.append(rest & 127 | (128 if rest >> 7 else 0))
                rest >>= 7
            pack += bytes(start) + zlib.compress(data, 1)
        self.path.write_bytes(head + pack + hashlib.sha1(pack).digest())

    def header(self, *lines: str) -> bytes:
        return "\n".join(["# v2 git bundle", *lines, "", ""]).encode()

    def edit(self, change: Callable[[bytes], bytes]) -> None:
        self.bundle(self.clone.commit("[FIX_IMPL] two", app__py="two\n"))
        self.path.write_bytes(change(self.path.read_bytes()))


def two_refs(attack: Attack) -> None:
    attack.bundle(attack.clone.commit("x", app__py="2"), refs=("refs/heads/work", "refs/heads/main"))


def other_ref(attack: Attack) -> None:
    attack.bundle(attack.clone.commit("x", app__py="2"), refs=("refs/supervisor/b1/2/1",))


def escaping_ref(attack: Attack) -> None:
    attack.edit(lambda data: data.replace(b"refs/heads/work", b"refs/../../../x", 1))


def other_head(attack: Attack) -> None:
    attack.bundle(attack.clone.commit("x", app__py="2"))
    attack.head = attack.base


def foreign_base(attack: Attack) -> None:
    git(attack.work, "checkout", "-q", "--orphan", "o")
    other = attack.clone.commit("other root")
    attack.bundle(attack.clone.commit("x", app__py="2"), since=other)


def orphan(attack: Attack) -> None:
    git(attack.work, "checkout", "-q", "--orphan", "o")
    attack.bundle(attack.clone.commit("x", app__py="2"))


def merge(attack: Attack) -> None:
    one, two = (attack.commit_tree(attack.tree(("100644", name, attack.blob))) for name in (b"a", b"b"))
    attack.bundle(attack.commit_tree(attack.tree(("100644", b"a", attack.blob)), one, two))


def submodule(attack: Attack) -> None:
    attack.entries(("160000", b"sub", attack.base))


def gitmodules(attack: Attack) -> None:
    attack.entries(("100644", b".gitmodules", attack.object("blob", b'[submodule "x"]\n\tpath = x\n\turl = y\n')))


def poisoned_gitmodules(attack: Attack) -> None:
    poison = b'[submodule "../../x"]\n\tpath = x\n\turl = -u./payload\n'
    attack.entries(("100644", b".gitmodules", attack.object("blob", poison)))


def dot_git(name: bytes) -> Callable[[Attack], None]:
    def attack_with(attack: Attack) -> None:
        hooks = attack.tree(("100755", b"post-checkout", attack.blob))
        attack.entries(("40000", name, hooks))

    return attack_with


def link(target: bytes) -> Callable[[Attack], None]:
    return lambda attack: attack.entries(("120000", b"link", attack.object("blob", target)))


def odd_path(name: bytes) -> Callable[[Attack], None]:
    return lambda attack: attack.entries(("100644", name, attack.blob))


def bad_mode(attack: Attack) -> None:
    attack.entries(("100777", b"x", attack.blob))


def same_name_twice(attack: Attack) -> None:
    attack.entries(("100644", b"x", attack.blob), ("100755", b"x", attack.blob))


def bad_author(attack: Attack) -> None:
    tree = git(attack.work, "rev-parse", "HEAD^{tree}")
    text = f"tree {tree}\nparent {attack.base}\nauthor \x01 <x\ncommitter \n\nx".encode()
    attack.bundle(attack.object("commit", text))


def missing_blob(attack: Attack) -> None:
    tree = b"100644 x\0" + bytes.fromhex("12" * 20)
    pack_tree = hashlib.sha1(b"tree %d\0" % len(tree) + tree).hexdigest()
    who = "t <t@t> 1700000000 +0000"
    text = f"tree {pack_tree}\nparent {attack.base}\nauthor {who}\ncommitter {who}\n\nx\n".encode()
    attack.head = hashlib.sha1(b"commit %d\0" % len(text) + text).hexdigest()
    attack.raw(attack.header(f"-{attack.base}", f"{attack.head} refs/heads/work"), (1, text), (2, tree))


def missing_head(attack: Attack) -> None:
    attack.head = "1" * 40
    attack.raw(attack.header(f"{attack.head} refs/heads/work"), (3, b"x"))


def tree_as_head(attack: Attack) -> None:
    tree = b"100644 x\0" + bytes.fromhex(attack.blob)
    attack.head = hashlib.sha1(b"tree %d\0" % len(tree) + tree).hexdigest()
    attack.raw(attack.header(f"{attack.head} refs/heads/work"), (2, tree), (3, b"x\n"))


def huge_blob(attack: Attack) -> None:
    attack.entries(("100644", b"zeros", attack.object("blob", bytes(60 * 2**20))))


def tree_bomb(attack: Attack) -> None:
    entry, mode = attack.blob, "100644"
    for _ in range(12):
        tree = attack.tree(*((mode, b"%d" % number, entry) for number in range(10)))
        entry, mode = tree, "40000"
    attack.bundle(attack.commit_tree(entry))


def many_commits(attack: Attack) -> None:
    head, tree = attack.base, git(attack.work, "rev-parse", "HEAD^{tree}")
    for _ in range(201):
        head = attack.commit_tree(tree, head)
    attack.bundle(head)


def huge_message(attack: Attack) -> None:
    path = attack.clone.home / "message"
    path.write_text("x" * 2_000_000)
    tree = git(attack.work, "rev-parse", "HEAD^{tree}")
    attack.bundle(git(attack.work, "commit-tree", "-F", str(path), f"-p{attack.base}", tree))


def version_3(attack: Attack) -> None:
    attack.edit(lambda data: data.replace(b"# v2 git bundle\n", b"# v3 git bundle\n@filter=blob:none\n"))


BUNDLES: dict[str, tuple[Callable[[Attack], None], str]] = {
    "no bundle": (lambda attack: attack.edit(lambda _: b"#!/bin/sh\n"), "not-a-bundle"),
    "empty file": (lambda attack: attack.edit(lambda _: b""), "not-a-bundle"),
    "rubbish in its header": (lambda a: a.edit(lambda d: d.replace(b"\n-", b"\n-x", 1)), "not-a-bundle"),
    "endless header": (lambda a: a.edit(lambda _: b"# v2 git bundle\n" + b"-" * 100_000), "not-a-bundle"),
    "no pack": (lambda a: a.edit(lambda d: d[: d.index(b"\n\n") + 2]), "not-a-bundle"),
    "another version, with a filter": (version_3, "bundle-version"),
    "cut short": (lambda a: a.edit(lambda d: d[:-30]), "bundle-broken"),
    "one bit flipped": (lambda a: a.edit(lambda d: d[:-25] + bytes([d[-25] ^ 1]) + d[-24:]), "bundle-broken"),
    "announces billions of objects": (
        lambda a: a.edit(lambda d: d.replace(d[d.index(b"PACK") :][:12], b"PACK\0\0\0\2\xff\xff\xff\xff")),
        "too-many-objects",
    ),
    "two refs": (two_refs, "wrong-ref"),
    "another job's ref": (other_ref, "wrong-ref"),
    "a ref that climbs": (escaping_ref, "wrong-ref"),
    "another commit than said": (other_head, "wrong-head"),
    "stands on commits of its own": (foreign_base, "foreign-prerequisite"),
    "stands on nothing": (orphan, "not-on-base"),
    "a merge": (merge, "merge-commit"),
    "a submodule": (submodule, "gitlink"),
    "gitmodules": (gitmodules, "gitmodules"),
    "poisoned gitmodules": (poisoned_gitmodules, "bundle-broken"),
    "a .git folder": (dot_git(b".git"), "bundle-broken"),
    "a .GIT folder": (dot_git(b".GIT"), "bundle-broken"),
    "a .git folder for HFS": (dot_git(".g\u200cit".encode()), "bundle-broken"),
    "a .git folder for NTFS": (dot_git(b"git~1"), "bundle-broken"),
    "a .. folder": (dot_git(b".."), "bundle-broken"),
    "a path with a slash": (odd_path(b"a/b"), "bundle-broken"),
    "a path with a newline": (odd_path(b"a\nb"), "odd-path"),
    "a path with an escape": (odd_path(b"a\x1b[31mb"), "odd-path"),
    "a path that is not UTF-8": (odd_path(b"\xff\xfe"), "odd-path"),
    "a path longer than files have": (odd_path(b"n" * 300), "odd-path"),
    "an absolute link": (link(b"/etc/passwd"), "symlink-escape"),
    "a link that climbs": (link(b"../../secrets"), "symlink-escape"),
    "a link into .git": (link(b".git/hooks"), "symlink-escape"),
    "a mode that git has not": (bad_mode, "bundle-broken"),
    "the same name twice": (same_name_twice, "bundle-broken"),
    "an author that breaks the header": (bad_author, "bundle-broken"),
    "a file that is missing": (missing_blob, "bundle-broken"),
    "a head that is missing": (missing_head, "bundle-broken"),
    "a tree for a head": (tree_as_head, "bundle-broken"),
    "a huge file, well packed": (huge_blob, "object-too-large"),
    "a huge message": (huge_message, "object-too-large"),
    "a trillion paths": (tree_bomb, "bundle-bomb"),
    "hundreds of commits": (many_commits, "too-many-commits"),
}
