"""The feed is strict Atom, whatever agents write, and keeps its ids."""

from hypothesis import given
from hypothesis import strategies as st

from supervisor.model.alert import Alert
from supervisor.observe.feed import Entry, feed, of_alerts
from tests.observe.atom import ATOM, checked

AT = "2026-01-01T00:00:00.000Z"
HOSTILE = "</title><script>alert(1)</script>\x00\x1b[31m\ud800 &amp; ]]> ‮"


@given(title=st.text(), text=st.text(), key=st.text(max_size=20))
def test_any_text_is_text(title: str, text: str, key: str) -> None:
    made = checked(feed([Entry(key, title, text, AT, "/")], "installation", 0.0, origin="http://localhost:8600"))
    assert len(made.findall(f"{ATOM}entry")) == 1


def test_markup_of_agents_is_no_markup() -> None:
    made = checked(feed([Entry("a", HOSTILE, HOSTILE, AT, "/")], "installation", 0.0))
    assert "<script>alert(1)</script>" in str(made.findtext(f"{ATOM}entry/{ATOM}title"))


def test_an_empty_feed_is_a_feed() -> None:
    assert checked(feed([], "installation", 0.0)).findall(f"{ATOM}entry") == []


def test_ids_stay_differ_between_installations_and_tell_nothing() -> None:
    def ids(installation: str) -> list[str | None]:
        made = checked(feed([Entry("batch k3f9x", "", "", AT, "/"), Entry("b", "", "", AT, "/")], installation, 0.0))
        return [each.text for each in made.iter(f"{ATOM}id")]

    assert ids("one") == ids("one")
    assert not set(ids("one")) & set(ids("two"))
    assert "k3f9x" not in str(ids("one"))


def test_the_end_of_an_alert_changes_its_entry_and_a_new_one_is_new() -> None:
    raised, over = (
        Alert("a", "paused", "", "It waits.", since=10.0),
        Alert("a", "paused", "", "It waits.", 10.0, 20.0),
    )
    again = Alert("a", "paused", "", "It waits.", since=30.0)
    [one], [two], [three] = (list(of_alerts([each])) for each in (raised, over, again))
    assert one.key == two.key != three.key
    assert (one.title, two.title) == ("It waits.", "Over: It waits.")
