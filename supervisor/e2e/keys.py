"""What a terminal sends for a key: `Enter`, `Up`, `F5`, `Ctrl+C`, `Alt+x`, `Shift+Tab`, or one character."""

_PLAIN = {
    "enter": "\r",
    "return": "\r",
    "tab": "\t",
    "space": " ",
    "escape": "\x1b",
    "esc": "\x1b",
    "backspace": "\x7f",
    "delete": "\x1b[3~",
    "insert": "\x1b[2~",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "shift+tab": "\x1b[Z",
}
_CURSOR = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_FUNCTION = ("OP", "OQ", "OR", "OS", "[15~", "[17~", "[18~", "[19~", "[20~", "[21~", "[23~", "[24~")
_MODIFIERS = {"shift": 1, "alt": 2, "ctrl": 4}


class NoSuchKey(ValueError):
    """The key is unknown."""


def sequence(key: str, has_application_cursor_keys: bool = False) -> str:
    name = key.lower()
    if name in _PLAIN:
        return _PLAIN[name]
    if name in _CURSOR:
        return f"\x1b{'O' if has_application_cursor_keys else '['}{_CURSOR[name]}"
    if name[:1] == "f" and name[1:].isdigit() and 1 <= int(name[1:]) <= len(_FUNCTION):
        return "\x1b" + _FUNCTION[int(name[1:]) - 1]
    if len(key) == 1:
        return key
    return _modified(key)


def _modified(key: str) -> str:
    *modifiers, last = key.split("+") if not key.endswith("+") else [*key[:-2].split("+"), "+"]
    names = {modifier.lower() for modifier in modifiers}
    if not names or not names <= _MODIFIERS.keys():
        raise NoSuchKey(f"no key is called {key!r}; write Enter, Up, F5, Ctrl+C, Alt+x or one character")
    if last.lower() in _CURSOR:
        return f"\x1b[1;{1 + sum(_MODIFIERS[name] for name in names)}{_CURSOR[last.lower()]}"
    sent = last.upper() if "shift" in names else last
    if "ctrl" in names:
        sent = _control(sent, key)
    return "\x1b" * ("alt" in names) + (sent if len(sent) == 1 else sequence(sent))


def _control(character: str, key: str) -> str:
    """A letter or one of @[\\]^_ without its upper bits; Ctrl+Space is the same as Ctrl+@."""
    character = "@" if character.lower() == "space" else character.upper()
    if len(character) == 1 and "@" <= character <= "_":
        return chr(ord(character) & 0x1F)
    raise NoSuchKey(f"a terminal has no sequence for {key!r}")
