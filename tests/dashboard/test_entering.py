"""A token opens the door once, and a session is what this daemon signed, until its time is over."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from supervisor.dashboard.entering import MOST_TOKENS, SESSION_SECONDS, TOKEN_SECONDS, Entrance, key_of


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


KEY = b"k" * 32


def test_a_token_is_good_for_one_session_of_its_author() -> None:
    entrance = Entrance(KEY, Clock())
    token = entrance.token("ann")
    text = entrance.admitted(token)
    assert text is not None
    session = entrance.session(text)
    assert session is not None
    assert session.author == "ann"
    assert entrance.admitted(token) is None


def test_a_token_and_a_session_end_with_their_time() -> None:
    clock = Clock()
    entrance = Entrance(KEY, clock)
    late, token = entrance.token("ann"), entrance.token("ann")
    text = entrance.admitted(token) or ""
    clock.now += TOKEN_SECONDS
    assert entrance.admitted(late) is None
    assert entrance.session(text) is not None
    clock.now += SESSION_SECONDS
    assert entrance.session(text) is None


def test_a_session_outlives_a_restart_and_ends_with_the_key(tmp_path: Path) -> None:
    path, clock = tmp_path / "key", Clock()
    first = Entrance(key_of(path), clock)
    text = first.admitted(first.token("ann")) or ""
    assert path.stat().st_mode & 0o777 == 0o600
    assert Entrance(key_of(path), clock).session(text) is not None
    path.unlink()
    assert Entrance(key_of(path), clock).session(text) is None


def test_two_sessions_have_two_keys_for_their_forms() -> None:
    entrance = Entrance(KEY, Clock())
    keys = {
        session.form_key
        for _ in "12"
        if (session := entrance.session(entrance.admitted(entrance.token("ann")) or "")) is not None
    }
    assert len(keys) == 2


@given(st.text(max_size=300), st.integers(0, 200), st.characters())
def test_what_was_not_signed_is_no_session(text: str, place: int, other: str) -> None:
    entrance = Entrance(KEY, Clock())
    signed = entrance.admitted(entrance.token("ann")) or ""
    assert entrance.session(text) is None
    place %= len(signed)
    spoilt = signed[:place] + other + signed[place + 1 :]
    assert (entrance.session(spoilt) is None) == (spoilt != signed)


def test_tokens_that_nobody_uses_do_not_pile_up() -> None:
    entrance = Entrance(KEY, Clock())
    tokens = [entrance.token("ann") for _ in range(MOST_TOKENS + 5)]
    assert [entrance.admitted(token) is not None for token in tokens] == [False] * 5 + [True] * MOST_TOKENS
